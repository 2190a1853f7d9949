// Tests that malformed requests are audited, counted and logged.

import HTTP
import HTTPServer
import JSON
import Platform
import Testing

@testable import Gateway

/// Requests that the server refuses before any handler sees them. They are still audited, counted and logged.
@Suite(.timeLimit(.minutes(2))) struct RefusedRequestTests {
  private let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "CALLGATE_ADMIN_TOKEN": "canary-operators",
    "CALLGATE_LOG_LEVEL": "debug",
  ]

  /// Sends bytes on a new connection and returns the status line of the response.
  private func send(_ text: String, to service: RunningService) throws -> String {
    let port = try #require(service.baseURL.split(separator: ":").last.flatMap { UInt16($0) })
    let socket = try StreamSocket(
      connectedTo: SocketAddress(try #require(IPAddress("127.0.0.1")), port: port))
    #expect(socket.send(Array(text.utf8)) == .bytes(text.utf8.count))
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      switch socket.receive(into: &buffer) {
      case .bytes(0), .failed:
        return String(decoding: received.prefix { $0 != 0x0D }, as: UTF8.self)
      case .bytes(let count): received += buffer[..<count]
      case .wouldBlock: continue
      }
    }
  }

  private func audits(_ lines: [JSONValue]) -> [JSONValue] { lines.filter { $0["log"]?.string == "audit" } }

  private func audit(_ lines: [JSONValue], code: String) -> [JSONValue] {
    audits(lines).filter { $0["code"]?.string == code }
  }

  @Test func `a refused request to a path that vends has its audit line`() async throws {
    let service = try RunningService(environment: environment, yaml: "limits: { content_bytes: 4096 }")
    let trace = "0af7651916cd43dd8448eb211c80319c"
    #expect(
      try send(
        "POST /token/shop HTTP/1.1\r\nHost: a\r\nX-Request-Id: large\r\ntraceparent: 00-\(trace)-b7ad6b7169203331-01\r\nContent-Length: 4097\r\n\r\n",
        to: service) == "HTTP/1.1 413 Content Too Large")
    #expect(
      try send("GET /access?app=x HTTP/1.1\r\nHost: a\r\nBad Field: x\r\n\r\n", to: service)
        == "HTTP/1.1 400 Bad Request")
    #expect(
      try send(
        "GET /access HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", to: service)
        == "HTTP/1.1 431 Request Header Fields Too Large")
    let page = String(
      decoding: try await service.ask(.get, "/metrics", ["Authorization": "Bearer canary-operators"]).content,
      as: UTF8.self)
    let lines = try await service.end()

    let large = try #require(audit(lines, code: "content_too_large").first)
    #expect(large["request_id"]?.string == "large" && large["action"]?.string == "access")
    #expect(large["decision"]?.string == "deny" && large["address"]?.string == "127.0.0.1")
    #expect(large["trace_id"]?.string == trace)
    #expect(audit(lines, code: "malformed_request").count == 1)
    #expect(audit(lines, code: "fields_too_large").count == 1)
    #expect(audits(lines).count == 3)
    for series in [
      #"callgate_http_requests_total{route="/token/{app}",method="POST",status="413"} 1"#,
      #"callgate_http_requests_total{route="/access",method="GET",status="400"} 1"#,
      #"callgate_http_requests_total{route="/access",method="GET",status="431"} 1"#,
      #"callgate_decisions_total{action="access",decision="deny",rule="",code="content_too_large"} 1"#,
    ] {
      #expect(page.contains(series + "\n"), "\(series)")
    }
    // These requests never arrived completely, so they have no duration.
    #expect(!page.contains(#"callgate_http_request_duration_seconds_count{route="/access"}"#))
    let logged = lines.filter { $0["message"]?.string == "a request was refused before it was complete" }
    #expect(
      logged.map { $0["error.type"]?.string } == [
        "content_too_large", "malformed_request", "fields_too_large",
      ])
    #expect(logged.map { $0["http.route"]?.string } == ["/token/{app}", "/access", "/access"])
    #expect(logged.first?["request_id"]?.string == "large" && logged.first?["trace_id"]?.string == trace)
  }

  @Test func `without a request line, or elsewhere, there is none`() async throws {
    let service = try RunningService(environment: environment)
    #expect(try send("GET /access\r\n\r\n", to: service) == "HTTP/1.1 400 Bad Request")
    #expect(
      try send("GET /nothing HTTP/1.1\r\nHost: a\r\nBad Field: x\r\n\r\n", to: service)
        == "HTTP/1.1 400 Bad Request")
    #expect(
      try send("GET /livez HTTP/1.1\r\nBad Field: x\r\n\r\n", to: service) == "HTTP/1.1 400 Bad Request")
    let page = String(
      decoding: try await service.ask(.get, "/metrics", ["Authorization": "Bearer canary-operators"]).content,
      as: UTF8.self)
    let lines = try await service.end()
    #expect(audits(lines).isEmpty)
    for series in [
      #"{route="refused",method="other",status="400"} 1"#, #"{route="other",method="GET",status="400"} 1"#,
      #"{route="/livez",method="GET",status="400"} 1"#,
    ] {
      #expect(page.contains("callgate_http_requests_total\(series)\n"), "\(series)")
    }
  }

  @Test func `an address that a proxy would tell is believed only where all fields were read`() async throws {
    let service = try RunningService(
      environment: environment, yaml: "listen: { trusted_proxies: [127.0.0.1/32], forwarded_hops: 1 }")
    let head = "POST /token/shop HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n"
    #expect(
      try send(head + "Content-Length: 999999999\r\n\r\n", to: service) == "HTTP/1.1 413 Content Too Large")
    #expect(try send(head + "Bad Field: x\r\n\r\n", to: service) == "HTTP/1.1 400 Bad Request")
    let lines = try await service.end()
    #expect(audit(lines, code: "content_too_large").first?["address"]?.string == "203.0.113.9")
    #expect(audit(lines, code: "malformed_request").first?["address"]?.string == "127.0.0.1")
  }
}
