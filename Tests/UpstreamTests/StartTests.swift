// Tests that a request whose time to start has passed is never sent.

import Glibc
import HTTP
import Platform
import Testing

@testable import Upstream

/// Requests that must start soon or not at all: whatever holds one up, its first byte leaves in time or never.
@Suite(.serialized, .timeLimit(.minutes(5))) struct StartTests {
  private let answering = Script { try $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }

  private func post(_ url: String, within span: Duration) -> OutboundRequest {
    var request = OutboundRequest.post(url)
    request.startWithin = span
    return request
  }

  @Test func `a request that starts in time has its whole timeout`() async throws {
    let script = Script { connection in
      _ = try connection.readRequest()
      connection.pause(milliseconds: 600)
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }
    try await withUpstream(script) { upstream in
      try await withTransport { transport in
        let response = try await transport.send(
          post("http://127.0.0.1:\(upstream.port)/", within: .milliseconds(500)))
        #expect(response.status == 200)
      }
    }
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `a request whose time to start is over opens no connection`(_ span: Duration) async throws {
    try await withUpstream(answering) { upstream in
      try await withTransport { transport in
        let error = await transport.failure(post("http://127.0.0.1:\(upstream.port)/", within: span))
        expect(error, .timedOut, sent: false)
        #expect(upstream.connections == 0)
      }
    }
  }

  @Test func `a connection, a handshake and a queue that take too long send nothing`() async throws {
    let full = try FullListener()
    let hanging = Script { connection in
      _ = try connection.readRequest()
      try connection.waitForClose()
    }
    try await withUpstream(hanging) { upstream in
      try await withTransport(TransportSettings(proxies: .direct, transfersPerPath: 1)) { transport in
        let queue = "http://127.0.0.1:\(upstream.port)/queue"
        async let first = transport.failure(.post(queue, timeout: .seconds(3)))
        try await upstream.waitForArrivals(1)
        for url in ["http://127.0.0.1:\(full.port)/", "https://127.0.0.1:\(upstream.port)/tls", queue] {
          let start = ContinuousClock.now
          let error = await transport.failure(post(url, within: .milliseconds(300)))
          expect(error, .timedOut, sent: false)
          #expect(
            error?.detail.hasPrefix("the time to start passed ") == true, "\(error?.detail ?? url)")
          #expect(ContinuousClock.now - start < .seconds(2), "\(url)")
        }
        expect(await first, .timedOut, sent: true)
        #expect(upstream.arrivals == 1)
      }
    }
  }

  @Test func `a request whose time to start passes while the whole thread stands still opens no connection`()
    async throws
  {
    let loopback = [try #require(IPAddress("127.0.0.1"))]
    try await withUpstream(answering) { upstream in
      // The lookup blocks the transfer thread, as if the process were suspended.
      let transport = try CurlTransport(TransportSettings(proxies: .direct), names: NameCache()) { _, done in
        usleep(400_000)
        done(.success(loopback))
      }
      let error = await transport.failure(
        post("https://upstream.test:\(upstream.port)/", within: .milliseconds(200)))
      expect(error, .timedOut, sent: false)
      // Connections are accepted in order, so this one would be the second.
      #expect(try await transport.send(.post("http://127.0.0.1:\(upstream.port)/")).status == 200)
      #expect(upstream.connections == 1)
      await transport.shutdown()
    }
  }

  @Test(arguments: [true, false])
  func `libcurl is told not to send what is ready when the time to start is over`(isLate: Bool) async throws {
    try await withUpstream(answering) { upstream in
      let settings = TransportSettings(proxies: .direct)
      let request = post(
        "http://127.0.0.1:\(upstream.port)/", within: isLate ? .zero : .seconds(20))
      let multi = try CurlMulti(pooledConnections: 1)
      let easy = try CurlEasy(
        ticket: Ticket(request, now: SystemClock().now),
        plan: try TransferPlan(request, TransferRoutes(settings)), settings: settings, share: CurlShare(),
        resolutions: [], resolvedIn: .zero, connectMilliseconds: 20_000)
      #expect(multi.add(easy))
      var finished = multi.perform()
      while finished.isEmpty {
        multi.poll(milliseconds: 100)
        finished = multi.perform()
      }
      switch easy.outcome(try #require(finished.first).code) {
      case .success(let response): #expect(!isLate && response.status == 200)
      case .failure(let error):
        #expect(isLate)
        expect(error, .timedOut, sent: false)
      }
      // The connection was established, and is closed again.
      try await upstream.waitForEnds(1)
      #expect(upstream.arrivals == (isLate ? 0 : 1))
    }
  }
}
