// Tests that a request with a completion handler is answered exactly once.

import HTTP
import Synchronization
import TestSupport
import Testing

@testable import Upstream

/// Requests without a task: each is answered exactly once, however it ends.
@Suite(.timeLimit(.minutes(2))) struct ThenTests {
  /// The results reported for one request, including repeated ones.
  private final class Said: Sendable {
    private let results = Mutex<[Result<InboundResponse, TransportError>]>([])
    var all: [Result<InboundResponse, TransportError>] { results.withLock { $0 } }

    func ask(_ transport: CurlTransport, _ request: OutboundRequest) {
      transport.send(request) { result in self.results.withLock { $0.append(result) } }
    }

    /// The only answer, after enough time for a second one.
    func one() async throws -> Result<InboundResponse, TransportError> {
      try await eventually { !all.isEmpty }
      try await Task.sleep(for: .milliseconds(20))
      #expect(all.count == 1)
      return all[0]
    }

    func failure() async throws -> TransportError? {
      guard case .failure(let error) = try await one() else {
        Issue.record("succeeded")
        return nil
      }
      return error
    }
  }

  private let hanging = Script { connection in
    _ = try connection.readRequest()
    try connection.waitForClose()
  }

  @Test func `with a response`() async throws {
    let script = Script { try $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
    try await withUpstream(script) { upstream in
      try await withTransport { transport in
        let said = Said()
        said.ask(transport, .post("http://127.0.0.1:\(upstream.port)/"))
        let response = try await said.one().get()
        #expect(response.text == "ok")
      }
    }
  }

  @Test func `with a URL that is refused, and with no time at all`() async throws {
    try await withTransport { transport in
      let (refused, late) = (Said(), Said())
      refused.ask(transport, .post("http://elsewhere.test/"))
      expect(try await refused.failure(), .invalidURL, sent: false)
      late.ask(transport, .post("http://127.0.0.1:1/", timeout: .zero))
      expect(try await late.failure(), .timedOut, sent: false)
    }
  }

  @Test func `with the end of its time`() async throws {
    try await withUpstream(hanging) { upstream in
      try await withTransport { transport in
        let said = Said()
        said.ask(transport, .post("http://127.0.0.1:\(upstream.port)/", timeout: .milliseconds(200)))
        expect(try await said.failure(), .timedOut, sent: true)
      }
    }
  }

  @Test func `with the transport's end, while it runs, while it waits and after it`() async throws {
    try await withUpstream(hanging) { upstream in
      let transport = try CurlTransport(
        TransportSettings(proxies: .direct, transfersPerPath: 1))
      let url = "http://127.0.0.1:\(upstream.port)/"
      let (running, waiting, afterwards) = (Said(), Said(), Said())
      running.ask(transport, .post(url))
      try await upstream.waitForArrivals(1)
      waiting.ask(transport, .post(url))
      await transport.shutdown()
      afterwards.ask(transport, .post(url))
      expect(try await running.failure(), .cancelled, sent: true)
      expect(try await waiting.failure(), .cancelled, sent: false)
      expect(try await afterwards.failure(), .cancelled, sent: false)
    }
  }

  /// The last requests of many have no room for libcurl's own text, but their failures are still reported.
  @Test func `in a crowd, each with what went wrong`() async throws {
    let listener = try FullListener()
    let settings = TransportSettings(
      proxies: .direct, connectTimeout: .milliseconds(500), transfersPerPath: 2000)
    try await withTransport(settings) { transport in
      let crowd = (0..<600).map { _ in Said() }
      for said in crowd { said.ask(transport, .post("http://127.0.0.1:\(listener.port)/")) }
      try await eventually { crowd.allSatisfy { !$0.all.isEmpty } }
      for said in crowd {
        #expect(said.all.count == 1)
        guard case .failure(let error) = said.all[0] else { continue }
        expect(error, .connect, sent: false)
        #expect(error.detail.hasSuffix(" (curl 28)") && error.detail.count > 15, "\(error.detail)")
      }
    }
  }
}
