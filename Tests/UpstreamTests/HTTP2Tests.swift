// Tests of HTTP/2 with a real server: one connection, what is repeated, and what counts as sent.

import Certificates
import Glibc
import HTTP
import JSON
import Synchronization
import TestSupport
import Testing
import Upstream

/// Requests on one HTTP/2 connection to a server in its own process.
@Suite(
  .serialized, .timeLimit(.minutes(5)),
  .enabled(if: HTTP2Server.isAvailable, "script/bootstrap test installs the HTTP/2 library"))
struct HTTP2Tests {
  private let authority = TestIdentity("", isAuthority: true)
  private let identity: TestIdentity

  init() { identity = TestIdentity("DNS:localhost,IP:127.0.0.1", issuer: authority) }

  /// Runs a body with a server and a transport that trusts it.
  private func with(
    streams: Int = 1000, _ multiplexing: Multiplexing = Multiplexing(),
    _ body: (HTTP2Server, CurlTransport, String) async throws -> Void
  ) async throws {
    try await withHTTP2Server(
      certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM, streams: streams
    ) { server in
      let settings = TransportSettings(
        authorities: .pem(authority.certificatePEM), proxies: .direct, multiplexing: multiplexing,
        idleTimeout: .seconds(3600))
      try await withTransport(settings) { transport in
        try await body(server, transport, "https://localhost:\(try await server.port())")
      }
    }
  }

  /// Sends requests to different paths at once, and returns their statuses.
  private func sendAll(
    _ count: Int, _ transport: CurlTransport, _ url: String,
    reuse: OutboundRequest.ConnectionReuse = .allowedAndRepeatable
  ) async -> [Int] {
    await withTaskGroup(of: Int.self) { group in
      for number in 1...count {
        group.addTask {
          do {
            return try await transport.send(
              .post("\(url)/device/\(number)", "{\"n\":\(number)}", reuse: reuse)
            )
            .status
          } catch {
            Issue.record(error)
            return 0
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func `many requests at once share one HTTP/2 connection, whatever their paths`() async throws {
    try await with { server, transport, url in
      #expect(await sendAll(300, transport, url) == Array(repeating: 200, count: 300))
      try await server.wait { server.requests.count >= 300 }
      #expect(Set(server.requests.compactMap { $0["path"]?.string }).count == 300)
      #expect(server.events("connection").map { $0["protocol"]?.string } == ["h2"])
    }
  }

  @Test func `method, path, fields and content arrive, and status, fields and content come back`()
    async throws
  {
    try await with { server, transport, url in
      try await server.send([
        "status": 410, "fields": ["apns-id": "4f6e"], "body": "{\"reason\":\"Unregistered\"}",
      ])
      var request = OutboundRequest.post("\(url)/3/device/ab", "{\"aps\":{}}", reuse: .allowedAndRepeatable)
      request.fields["apns-topic"] = "com.example.shop"
      let response = try await transport.send(request)
      #expect(response.status == 410)
      #expect(response.fields["apns-id"] == "4f6e")
      #expect(response.text == "{\"reason\":\"Unregistered\"}")
      try await server.wait { server.requests.count >= 1 }
      let arrived = try #require(server.requests.first)
      #expect(arrived["fields"]?[":method"] == "POST")
      #expect(arrived["path"] == "/3/device/ab")
      #expect(arrived["fields"]?["apns-topic"] == "com.example.shop")
      #expect(arrived["body"] == "{\"aps\":{}}")
    }
  }

  @Test(arguments: [1, 3])
  func `no stream is too many for a server that allows few, from the first request on`(
    streams: Int
  ) async throws {
    try await with(streams: streams) { server, transport, url in
      #expect(await sendAll(40, transport, url) == Array(repeating: 200, count: 40))
      #expect(server.events("excess").isEmpty)
      #expect(server.events("connection").count == 1)
    }
  }

  @Test func `more requests than streams wait for their turn`() async throws {
    try await with(Multiplexing(streams: 5)) { server, transport, url in
      _ = try await transport.send(.post(url, reuse: .allowed))
      for _ in 1...5 { try await server.send(["hold": true]) }
      async let statuses = sendAll(30, transport, url)
      try await server.wait { server.requests.count == 6 }
      // The server answers a command only after it has read all requests so far, so no other has been sent.
      try await server.send(["order": "ping"])
      try await server.wait { !server.events("acknowledged").isEmpty }
      #expect(server.requests.count == 6)
      try await server.send(["order": "release"])
      #expect(await statuses == Array(repeating: 200, count: 30))
    }
  }

  @Test func `a refused stream is repeated once and arrives on another connection`() async throws {
    try await with { server, transport, url in
      try await server.send(["refuse": true])
      try await transport.expectOK(.post(url, reuse: .allowedAndRepeatable))
      try await server.wait { server.requests.count >= 2 }
      #expect(server.requests.count == 2)
      try await server.send(["refuse": true])
      try await server.send(["refuse": true])
      expect(
        await transport.failure(.post(url, reuse: .allowedAndRepeatable)), .connectionLost, sent: true)
      try await server.wait { server.requests.count >= 4 }
      #expect(server.requests.count == 4, "a third attempt was made")
      try await transport.expectOK(.post(url, reuse: .allowedAndRepeatable))
    }
  }

  @Test func `a refused stream that must not be repeated counts as sent`() async throws {
    try await with { server, transport, url in
      try await server.send(["refuse": true])
      expect(await transport.failure(.post(url, reuse: .allowed)), .connectionLost, sent: true)
      try await server.wait { server.requests.count >= 1 }
      #expect(server.requests.count == 1)
    }
  }

  @Test func `after GOAWAY what was not processed goes to a new connection, and the rest is answered`()
    async throws
  {
    try await with { server, transport, url in
      // The first request goes alone.
      try await transport.expectOK(.post(url, reuse: .allowedAndRepeatable))
      try await server.send(["hold": true])
      async let first = transport.status(.post("\(url)/first", reuse: .allowedAndRepeatable))
      try await server.wait { server.requests.count == 2 }
      try await server.send(["goaway": true])
      async let second = transport.status(.post("\(url)/second", reuse: .allowedAndRepeatable))
      try await server.wait { server.requests.count == 3 }
      try await server.send(["order": "release"])
      let statuses = try await (first, second)
      #expect(statuses == (200, 200))
      try await server.wait { server.requests.count >= 4 }
      #expect(server.requests.map { $0["path"] } == ["/", "/first", "/second", "/second"])
      #expect(server.requests.map { $0["connection"] } == [1, 1, 1, 2])
    }
  }

  @Test func `after a GOAWAY between requests the next one has a new connection`() async throws {
    try await with { server, transport, url in
      for count in 1...3 {
        try await transport.expectOK(.post(url, reuse: .allowedAndRepeatable))
        try await server.send(["order": "goaway"])
        try await server.wait { server.events("closed").count == count }
      }
      try await server.wait { server.requests.count >= 3 }
      #expect(server.requests.map { $0["connection"] } == [1, 2, 3])
    }
  }

  @Test func `a stream that the server resets was sent, and its connection carries on`() async throws {
    try await with { server, transport, url in
      try await server.send(["reset": 2])
      expect(
        await transport.failure(.post(url, reuse: .allowedAndRepeatable)), .connectionLost, sent: true)
      try await transport.expectOK(.post(url, reuse: .allowedAndRepeatable))
      #expect(server.events("connection").count == 1)
    }
  }

  @Test func `a connection that breaks fails what it carried as sent, and the next request has a new one`()
    async throws
  {
    try await with { server, transport, url in
      _ = try await transport.send(.post(url, reuse: .allowed))
      try await server.send(["close": true])
      expect(await transport.failure(.post(url, reuse: .allowed)), .connectionLost, sent: true)
      try await transport.expectOK(.post(url, reuse: .allowed))
      try await server.wait { server.requests.count >= 3 }
      #expect(server.requests.map { $0["connection"] } == [1, 1, 2])
    }
  }

  @Test func `a request without an answer times out as sent, and its connection carries on`() async throws {
    try await with { server, transport, url in
      _ = try await transport.send(.post(url, reuse: .allowed))
      try await server.send(["hold": true])
      expect(
        await transport.failure(.post(url, reuse: .allowed, timeout: .milliseconds(200))), .timedOut,
        sent: true)
      // The server gets the reset with the next request at the latest.
      try await transport.expectOK(.post(url, reuse: .allowed))
      try await server.wait { !server.events("reset").isEmpty }
      #expect(server.events("connection").count == 1)
    }
  }

  @Test func `nothing was sent where the server cannot be reached`() async throws {
    let settings = TransportSettings(
      authorities: .pem(authority.certificatePEM), proxies: .direct, multiplexing: Multiplexing())
    try await withTransport(settings) { transport in
      let request = OutboundRequest.post("https://localhost:1/", reuse: .allowedAndRepeatable)
      expect(await transport.failure(request), .connect, sent: false)
    }
  }

  @Test func `a stranger's certificate is refused before anything is sent`() async throws {
    try await withHTTP2Server(certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM) { server in
      let stranger = TestIdentity("", isAuthority: true)
      let settings = TransportSettings(
        authorities: .pem(stranger.certificatePEM), proxies: .direct, multiplexing: Multiplexing())
      try await withTransport(settings) { transport in
        let url = "https://localhost:\(try await server.port())"
        expect(await transport.failure(.post(url, reuse: .allowedAndRepeatable)), .tls, sent: false)
        #expect(server.requests.isEmpty)
      }
    }
  }
}
