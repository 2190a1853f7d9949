// Tests of `callgate probe` against servers that work, refuse or fail.

import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import Testing
import Upstream

@testable import Diagnosis
@testable import Gateway

/// How a probe judges a working server, and responses that no such server sends.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ProbeTests {
  private let caller = ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"]

  private func probe(_ url: String, user: String? = nil, bearer: String? = nil) async throws -> ProbeReport {
    let transport = try CurlTransport(TransportSettings(proxies: .direct))
    let credential =
      try user.map { try ProbeCredential(user: $0) } ?? bearer.map { try ProbeCredential(bearer: $0) }
    let result = await Result { () async throws in
      try await Probe(url: url, credential: credential, transport: transport, clock: SystemClock()).run()
    }
    await transport.shutdown()
    return try result.get()
  }

  @Test func `a server that works passes, and no allowance is spent`() async throws {
    let service = try RunningService(
      environment: caller,
      yaml: "rules: [{ name: once, kind: quota, key: caller, limit: 1, per: day }]")
    for _ in 1...3 {
      let report = try await probe(service.baseURL + "/", user: "app:canary-pass")
      #expect(report.verdict == .ok, "\(report.lines)")
      #expect(report.lines.map(\.status) == [204, 401, 401, 404])
      #expect(!report.json.contains("canary-pass"))
    }
    _ = try await service.end()
  }

  @Test func `a server for anonymous callers passes without a credential, and is a surprise with one`()
    async throws
  {
    let service = try RunningService(environment: ["CALLGATE_ALLOW_ANONYMOUS": "true"])
    let open = try await probe(service.baseURL)
    #expect(open.verdict == .ok)
    #expect(open.lines.map(\.status) == [204, 404, 405, 404])
    let closed = try await probe(service.baseURL, user: "app:x")
    #expect(closed.verdict == .surprise)
    #expect(closed.lines[1].found.contains("allow_anonymous"))
    _ = try await service.end()
  }

  @Test func `a wrong credential, and none, are a refusal that is explained`() async throws {
    let service = try RunningService(environment: caller)
    let wrong = try await probe(service.baseURL, user: "app:wrong")
    #expect(wrong.verdict == .refused)
    #expect(wrong.lines[0].found.hasPrefix("refused: unauthenticated"))
    let none = try await probe(service.baseURL)
    #expect(none.verdict == .refused)
    #expect(none.lines[0].found.contains("--user"))
    _ = try await service.end()
  }

  @Test func `a rule that refuses is named`() async throws {
    let service = try RunningService(
      environment: caller,
      yaml:
        "rules: [{ name: night, kind: hours, weekly: { mon: \"00:00-00:01\" }, closed: [] , on: access, timezone: UTC },"
        + " { name: office-only, kind: addresses, allow: [203.0.113.0/24] }]")
    let report = try await probe(service.baseURL, user: "app:canary-pass")
    #expect(report.verdict == .refused)
    #expect(report.lines[0].found.contains("by rule \""))
    _ = try await service.end()
  }

  @Test func `Talkdesk's trouble is the server's not being able to serve`() async throws {
    let service = try RunningService(environment: caller)
    try await service.tellTalkdesk(
      .post, "/_sandbox/faults", ["endpoint": "token", "status": 503, "times": 9])
    let report = try await probe(service.baseURL, user: "app:canary-pass")
    #expect(report.verdict == .unreachable)
    #expect(report.lines[0].found.contains("upstream_unavailable"))
    _ = try await service.end()
  }

  // MARK: Responses that no such server sends

  private struct Scripted: HTTPTransport {
    let answer: @Sendable (OutboundRequest) throws(TransportError) -> InboundResponse
    func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
      try answer(request)
    }
  }

  private static let fine: Fields = ["Cache-Control": "no-store", "X-Request-Id": "1"]

  private static func problem(_ status: Int, _ code: String, _ more: Fields = [:]) -> InboundResponse {
    var fields = fine
    fields["Content-Type"] = "application/problem+json"
    fields["WWW-Authenticate"] = "Basic realm=\"x\""
    for line in more.lines { fields[line.name] = line.value.isEmpty ? nil : line.value }
    return InboundResponse(status: status, fields: fields, content: Array("{\"code\":\"\(code)\"}".utf8))
  }

  /// The verdict on a server whose responses are correct, except that to one request.
  private func verdict(
    of number: Int, _ answer: InboundResponse
  ) async throws -> (ProbeReport.Verdict, String) {
    let count = Mutex(0)
    let good = [
      InboundResponse(status: 204, fields: Self.fine, content: []), Self.problem(401, "unauthenticated"),
      Self.problem(401, "unauthenticated"), Self.problem(404, "unknown_app"),
    ]
    let transport = Scripted { _ throws(TransportError) in
      let place = count.withLock { count in
        count += 1
        return count - 1
      }
      return place == number ? answer : good[place]
    }
    let report = try await Probe(
      url: "https://calls.example", credential: try ProbeCredential(user: "a:b"), transport: transport,
      clock: SystemClock()
    ).run()
    return (report.lines[number].verdict, report.lines[number].found)
  }

  @Test func `what is not as contracted is a surprise`() async throws {
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln"
    let cases: [(Int, InboundResponse, String)] = [
      (0, InboundResponse(status: 200, fields: Self.fine, content: Array(token.utf8)), "a token"),
      (0, InboundResponse(status: 204, fields: ["X-Request-Id": "1"], content: []), "no-store"),
      (0, InboundResponse(status: 204, fields: ["Cache-Control": "no-store"], content: []), "X-Request-Id"),
      (0, InboundResponse(status: 302, fields: ["Location": "/x"], content: []), "redirect"),
      (0, InboundResponse(status: 404, fields: [:], content: []), "another program"),
      (0, Self.problem(418, "teapot"), "unknown problem"),
      (1, InboundResponse(status: 204, fields: Self.fine, content: []), "allow_anonymous is on"),
      (1, Self.problem(401, "unauthenticated", ["WWW-Authenticate": ""]), "WWW-Authenticate"),
      (1, Self.problem(401, "unauthenticated", ["Cache-Control": "private"]), "no-store"),
      (1, Self.problem(403, "denied"), "expected unauthenticated"),
      (2, InboundResponse(status: 204, fields: Self.fine, content: []), "the server allowed it"),
      (3, Self.problem(403, "unknown_app"), "expected unknown_app"),
      (
        3, InboundResponse(status: 201, fields: Self.fine, content: Array(#"{"auth_token":"x"}"#.utf8)),
        "auth_token"
      ),
    ]
    for (number, answer, words) in cases {
      let (verdict, found) = try await verdict(of: number, answer)
      #expect(verdict == .surprise, "\(number) \(answer.status) \(found)")
      #expect(found.contains(words), "\(found)")
      #expect(!found.contains(token))
    }
  }

  @Test func `a server that refuses or is busy is recognized`() async throws {
    #expect(try await verdict(of: 0, Self.problem(403, "stopped")).0 == .refused)
    #expect(try await verdict(of: 0, Self.problem(503, "overloaded")).0 == .unreachable)
    #expect(try await verdict(of: 1, Self.problem(503, "overloaded")).0 == .unreachable)
    #expect(try await verdict(of: 2, Self.problem(429, "rate_limited")).0 == .ok)
    #expect(try await verdict(of: 3, Self.problem(403, "stopped")).0 == .ok)
  }

  @Test func `without a server no further request is sent`() async throws {
    let count = Mutex(0)
    let transport = Scripted { _ throws(TransportError) in
      count.withLock { $0 += 1 }
      throw TransportError(.connect, sent: false, detail: "nobody")
    }
    let report = try await Probe(
      url: "https://calls.example", credential: nil, transport: transport, clock: SystemClock()
    ).run()
    #expect(report.verdict == .unreachable)
    #expect(count.withLock { $0 } == 1)
  }

  @Test(arguments: ["", "user", ":password", "user:pass\nword"])
  func `an invalid credential is refused without being shown`(text: String) throws {
    let error = try #require(throws: ProbeCredential.Malformed.self) { try ProbeCredential(user: text) }
    #expect(text.isEmpty || !error.description.contains(text))
    #expect(throws: ProbeCredential.Malformed.self) { try ProbeCredential(bearer: "a b") }
  }

  @Test func `a URL that cannot be asked is no report`() async throws {
    for url in ["calls.example", "ftp://calls.example", "http://calls.example", "https://a:b@calls.example"] {
      await #expect(throws: Probe.InvalidURL.self) { try await probe(url) }
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
