// Tests of requests whose clients disconnect while they wait.

import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway

/// Clients that close their connections while their requests wait.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LeavingClientsTests {
  private static let reason = "the client closed the connection before the response"

  /// A client that breaks its connection when it is released. It resets the connection, because a client that
  /// only stops sending may still read.
  private final class Client {
    private let socket: StreamSocket

    init(_ fixture: CallingFixture) throws {
      let port = try #require(UInt16(fixture.service.baseURL.split(separator: ":").last ?? ""))
      socket = try StreamSocket(connectedTo: SocketAddress(IPAddress(v4: 0x7F00_0001), port: port))
      socket.resetOnClose()
    }

    func send(_ head: String, content: String = "") {
      let text =
        "\(head)\r\nHost: a\r\nAuthorization: Basic \(Base64.encode(Array("app:canary-pass".utf8)))\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
      _ = socket.send(Array(text.utf8))
    }

    func call(_ number: String, key: String? = nil) {
      send(
        "POST /calls/callback HTTP/1.1" + (key.map { "\r\nIdempotency-Key: \($0)" } ?? ""),
        content: #"{"contact_phone_number":"\#(number)"}"#)
    }
  }

  private func audits(_ fixture: CallingFixture, _ code: String?) throws -> [JSONValue] {
    try fixture.service.lines().filter { $0["log"]?.string == "audit" && $0["code"]?.string == code }
  }

  private func exchanges(_ fixture: CallingFixture) async throws -> Int64? {
    try await fixture.service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int
  }

  @Test func `requests for a token end with their clients, spend nothing, and leave the exchange to others`()
    async throws
  {
    let fixture = try CallingFixture(
      yaml: "rules: [{ name: few, kind: quota, key: caller, limit: 21, per: month }]",
      environment: ["CALLGATE_ADMIN_TOKEN": "canary-operators-token"])
    try await fixture.fault(["endpoint": "token", "delay_ms": 9000])
    async let patient = fixture.look("/access")
    try await eventually { fixture.service.connections.waiting == 1 }
    var clients = try (0..<20).map { _ in try Client(fixture) }
    for client in clients { client.send("GET /access HTTP/1.1") }
    try await eventually { fixture.service.connections.waiting == 21 }
    clients = []
    // This is long before the exchange ends: the client that stayed is still waiting.
    try await eventually { fixture.service.connections.waiting == 1 }
    try await eventually { try audits(fixture, "upstream_timeout").count == 20 }
    for line in try audits(fixture, "upstream_timeout") {
      #expect(line["reason"]?.string == Self.reason)
      #expect(line["token_sha256"] == nil)
    }
    try await fixture.release()
    #expect(try await patient.status == 200)
    // These requests do not count as server errors.
    let page = try await fixture.look("/metrics", CallingFixture.operators)
    let text = String(decoding: page.content, as: UTF8.self)
    #expect(
      text.contains(#"callgate_http_requests_total{route="/access",method="GET",status="499"} 20"# + "\n"))
    #expect(try await exchanges(fixture) == 1)
    #expect(try await fixture.look("/availability").json?["remaining"]?["few"] == 20)
    _ = try await fixture.end()
  }

  @Test func `a callback that has begun is finished without its client`() async throws {
    let fixture = try CallingFixture(yaml: "callbacks: { timeout: 30s }")
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 30_000])
    var client: Client? = try Client(fixture)
    client?.call("+14155550110", key: "k")
    try await eventually { try await fixture.journal().arrivals == 1 }
    client = nil
    // The request keeps waiting without its connection.
    try await eventually { fixture.service.connections.open <= 1 }
    #expect(fixture.service.connections.waiting == 1)
    try await fixture.release()
    var repetition = ""
    try await eventually {
      repetition = try await fixture.call(
        "+14155550110", key: "k", body: #"{"contact_phone_number":"+14155550110"}"#
      ).summary
      return repetition != "409 in_progress"
    }
    #expect(repetition == "201")
    #expect(try await fixture.journal().rings == ["+14155550110": 1])
    _ = try await fixture.end()
  }

  @Test
  func
    `a callback that has not begun ends with its client, and neither number nor key nor allowance is used`()
    async throws
  {
    let fixture = try CallingFixture(
      yaml: "rules: [{ name: once, kind: quota, key: caller, limit: 1, per: month }]",
      environment: ["CALLGATE_ADMIN_TOKEN": "canary-operators-token"])
    try await fixture.fault(["endpoint": "token", "delay_ms": 9000])
    var client: Client? = try Client(fixture)
    client?.call("+14155550110", key: "k")
    try await eventually { fixture.service.load.running == 1 }
    client = nil
    try await eventually { fixture.service.load.running == 0 }
    try await eventually { try audits(fixture, "upstream_timeout").count == 1 }
    #expect(try audits(fixture, "upstream_timeout").first?["reason"]?.string == Self.reason)
    let page = String(
      decoding: try await fixture.look("/metrics", CallingFixture.operators).content, as: UTF8.self)
    #expect(
      page.contains(
        #"callgate_http_requests_total{route="/calls/callback",method="POST",status="499"} 1"# + "\n"))
    try await fixture.release()
    let answer = try await fixture.call("+14155550110", key: "k")
    #expect(answer.summary == "201")
    #expect(try await fixture.journal().rings == ["+14155550110": 1])
    _ = try await fixture.end()
  }

  @Test func `no more requests wait than connections may be open, whether or not their clients are there`()
    async throws
  {
    let fixture = try CallingFixture(
      yaml: """
        limits: { connections: 3 }
        callbacks: { concurrency: 1 }
        apps: { shop: { callers: [default] }, other: { scope: "visual-sessions:execute" }, counted: {} }
        rules:
          - { name: few, kind: quota, on: callback, key: caller, limit: 5, per: month }
          - { name: one, kind: quota, on: access, apps: [counted], key: caller, limit: 1, per: month }
        """)
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 15_000])
    // Callbacks in the queue stay there without their clients.
    for (index, load) in [(1, 0), (1, 1), (1, 2)].enumerated() {
      var client: Client? = try Client(fixture)
      client?.call("+1415555011\(index)")
      try await eventually { fixture.service.load == load }
      client = nil
    }
    try await eventually { fixture.service.connections.open <= 1 }
    #expect(fixture.service.connections.waiting == 3)
    let refused = try await fixture.call("+14155550119")
    #expect(refused.summary == "503 overloaded")
    #expect(refused.fields["Retry-After"] == "1")
    #expect(try await fixture.look("/availability").summary == "503 overloaded")
    // A request that does not have to wait is served.
    #expect(try await fixture.look("/access?app=shop").status == 200)
    #expect(try await fixture.look("/livez").status == 200)
    // A request that would have to wait for Talkdesk or for the store is refused, and takes nothing.
    #expect(try await fixture.look("/access?app=other").summary == "503 overloaded")
    #expect(try await fixture.look("/access?app=counted").summary == "503 overloaded")
    try await fixture.release()
    try await eventually { try await fixture.look("/access?app=counted").status == 200 }
    #expect(try await fixture.look("/access?app=counted").summary == "429 quota_exhausted")
    try await eventually { try audits(fixture, "overloaded").count >= 3 }
    _ = try await fixture.end()
  }
}
