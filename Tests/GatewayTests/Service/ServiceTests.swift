// Tests of `GET /access` on a running server, from the request to the audit record.

import HTTP
import JOSE
import JSON
import TestSupport
import Testing

@testable import Gateway

@Suite(.serialized, .timeLimit(.minutes(5))) struct ServiceTests {
  private let caller = ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"]
  private var credentials: Fields {
    ["Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8))]
  }

  private func audits(_ lines: [JSONValue]) -> [JSONValue] { lines.filter { $0["log"]?.string == "audit" } }

  @Test func `a token is vended, and the second time it comes from the cache`() async throws {
    let service = try RunningService(environment: caller)
    let first = try await service.ask(.get, "/access", credentials)
    let second = try await service.ask(.get, "/access", credentials)
    #expect(first.status == 200 && second.status == 200)
    #expect(first.content == second.content)
    #expect(first.fields["Content-Type"] == "text/plain; charset=utf-8")
    #expect(first.fields["Cache-Control"] == "no-store")
    #expect(try await service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 1)
    let audits = audits(try await service.end())
    #expect(audits.map { $0["cache"]?.string } == ["miss", "hit"])
    #expect(audits.map { $0["caller"]?.string } == ["default", "default"])
    #expect(audits.someAndAll { $0["token_sha256"]?.string == Hex.encode(SHA256.digest(first.content)) })
  }

  @Test func `every vending request is audited once, whatever becomes of it, and nothing else is`()
    async throws
  {
    let service = try RunningService(environment: caller)
    let requests: [(Method, String, Fields, Int)] = [
      (.get, "/access", [:], 401), (.get, "/access", ["Authorization": "Basic eDp5"], 401),
      (.get, "/access", credentials, 200), (.head, "/access", credentials, 200),
      (.get, "/access?probe", credentials, 204), (.get, "/access?app=none", credentials, 404),
      (.post, "/token/example-app-ios", credentials, 201), (.post, "/token/none", credentials, 404),
      (.get, "/token/example-app-ios", credentials, 405), (.get, "/livez", [:], 200),
      (.get, "/readyz", [:], 200),
      (.get, "/", [:], 200), (.get, "/none", [:], 404), (.post, "/access", credentials, 405),
    ]
    for (method, path, fields, status) in requests {
      #expect(try await service.ask(method, path, fields).status == status, "\(method) \(path)")
    }
    let audits = audits(try await service.end())
    #expect(audits.count == 10)
    #expect(
      audits.map { $0["code"]?.string }
        == [
          "unauthenticated", "unauthenticated", nil, nil, nil, "unknown_app", nil, "unknown_app",
          "method_not_allowed",
          "method_not_allowed",
        ])
    #expect(
      audits.map { $0["decision"]?.string } == [
        "deny", "deny", "allow", "allow", "allow", "deny", "allow", "deny", "deny", "deny",
      ])
    // A probe returns no token.
    #expect(audits[4]["token_sha256"] == nil)
  }

  @Test func `probes cost no exchange each where tokens are not shared, and requests do`() async throws {
    let service = try RunningService(environment: caller, yaml: "tokens: { share: false }")
    for _ in 0..<5 { #expect(try await service.ask(.get, "/access?probe", credentials).status == 204) }
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    #expect(try await service.ask(.get, "/access?probe", credentials).status == 204)
    let audits = audits(try await service.end())
    #expect(audits.map { $0["cache"]?.string } == ["miss", "hit", "hit", "hit", "hit", "miss", "hit"])
    #expect(audits.map { $0["upstream_status"]?.int } == [200, nil, nil, nil, nil, 200, nil])
    #expect(audits.map { $0["token_sha256"] != nil } == (0..<7).map { $0 == 5 })
  }

  @Test func `a refused exchange is 502, then cools down, and is audited as an error`() async throws {
    let service = try RunningService(environment: caller)
    try await service.tellTalkdesk(
      .post, "/_sandbox/faults", ["endpoint": "token", "status": 401, "times": 9])
    let refused = try await service.ask(.get, "/access", credentials)
    let cooling = try await service.ask(.get, "/access", credentials)
    #expect(refused.status == 502 && cooling.status == 503)
    #expect(cooling.fields["Retry-After"] != nil)
    #expect(try await service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 1)
    let audits = audits(try await service.end())
    #expect(audits.map { $0["code"]?.string } == ["upstream_refused", "upstream_unavailable"])
    #expect(audits.map { $0["decision"]?.string } == ["error", "error"])
    #expect(audits[0]["upstream_status"]?.int == 401)
  }

  @Test func `no line holds a password, a token or an assertion`() async throws {
    let service = try RunningService(environment: caller.merging(["CALLGATE_LOG_LEVEL": "debug"]) { $1 })
    let token = String(decoding: try await service.ask(.get, "/access", credentials).content, as: UTF8.self)
    for fault: JSONValue in [
      ["endpoint": "token", "status": 401], ["endpoint": "token", "status": 200, "body": "<html>"],
    ] {
      try await service.tellTalkdesk(.post, "/_sandbox/faults", fault)
    }
    _ = try await service.ask(.get, "/access", ["Authorization": "Bearer \(token)"])
    let text = try await service.end().map { String(decoding: $0.serialized(), as: UTF8.self) }.joined(
      separator: "\n")
    #expect(
      !text.contains("eyJ") && !text.contains("canary") && !text.contains(credentials["Authorization"] ?? "?")
    )
    #expect(text.contains("token obtained from Talkdesk ID"))
  }
}
