import HTTP
import JOSE
import JSON
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct AdministrationTests {
  private static let token = "canary-operators-token"
  private let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "CALLGATE_ADMIN_TOKEN": token,
  ]
  private let operatorFields: Fields = ["Authorization": "Bearer \(token)"]
  private var credentials: Fields {
    ["Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8))]
  }

  private func json(_ response: InboundResponse) throws -> JSONValue {
    try JSONValue(parsing: response.content)
  }

  private func post(_ service: RunningService, _ path: String, _ content: JSONValue) async throws
    -> InboundResponse
  {
    try await service.ask(.post, path, operatorFields, content: content.serialized())
  }

  @Test func `without a token nothing is there`() async throws {
    let service = try RunningService(environment: [
      "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass",
    ])
    for path in ["/admin/status", "/admin/stop", "/admin/none"] {
      let answer = try await service.ask(.get, path, operatorFields)
      #expect(answer.status == 404)
      #expect(try json(answer)["code"]?.string == "not_found")
    }
    _ = try await service.end()
  }

  @Test func `the token opens, and nothing else does`() async throws {
    let service = try RunningService(environment: environment)
    #expect(try await service.ask(.get, "/admin/status", operatorFields).status == 200)
    let other = String(Self.token.dropLast()) + "m"
    for (fields, code) in [
      ([:], "unauthenticated"), (credentials, "unauthenticated"),
      (["Authorization": "Bearer"], "unauthenticated"),
      (["Authorization": "Bearer \(other)"], "invalid_token"),
      (["X-API-Key": Self.token], "unauthenticated"),
    ] as [(Fields, String)] {
      for path in ["/admin/status", "/admin/none"] {
        let answer = try await service.ask(.get, path, fields)
        #expect(answer.status == 401)
        #expect(try json(answer)["code"]?.string == code)
        #expect(answer.fields["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
      }
    }
    #expect(try await service.ask(.get, "/admin/none", operatorFields).status == 404)
    let wrongMethod = try await service.ask(.get, "/admin/stop", operatorFields)
    #expect(wrongMethod.status == 405)
    #expect(wrongMethod.fields["Allow"] == "POST, OPTIONS")
    // The operators' token is no app's key.
    #expect(try await service.ask(.get, "/access", operatorFields).status == 401)
    let lines = try await service.end()
    #expect(!lines.contains { String(decoding: $0.serialized(), as: UTF8.self).contains(Self.token) })
  }

  @Test func `a stop holds from the next request on, goes before the app, and ends with resume`() async throws
  {
    let service = try RunningService(environment: environment)
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    let stopped = try await post(service, "/admin/stop", ["scope": "all", "action": "access"])
    #expect(stopped.status == 200)
    #expect(try json(stopped)["stops"]?.array?.count == 1)
    #expect(try json(stopped)["stops"]?.array?.first?["scope"]?.string == "all")
    #expect(try json(stopped)["stops"]?.array?.first?["since"]?.string?.hasSuffix("Z") == true)
    for path in ["/access", "/access?probe", "/access?app=none"] {
      let answer = try await service.ask(.get, path, credentials)
      #expect(answer.status == 403)
      #expect(try json(answer)["code"]?.string == "stopped")
      #expect(try json(answer)["rule"] == nil)
    }
    // Who asks is still found out first.
    #expect(try await service.ask(.get, "/access").status == 401)
    let resumed = try await post(service, "/admin/resume", ["scope": "all", "action": "all"])
    #expect(try json(resumed) == ["stops": []])
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    let lines = try await service.end()
    let audits = lines.filter { $0["log"]?.string == "audit" }
    #expect(
      audits.map { $0["code"]?.string } == [nil, "stopped", "stopped", "stopped", "unauthenticated", nil])
    #expect(lines.contains { $0["message"]?.string == "stopped by an operator" })
    #expect(lines.contains { $0["message"]?.string == "resumed by an operator" })
  }

  @Test func `an app and a caller are stopped by name`() async throws {
    let service = try RunningService(
      environment: environment,
      yaml: """
        callers: [{ id: partner, api_key: { sha256: \(Hex.encode(SHA256.digest(Array("canary-key".utf8)))) } }]
        apps: { shop: { callers: [default] }, help: {} }
        """)
    let key: Fields = ["X-API-Key": "canary-key"]
    #expect(
      try await post(service, "/admin/stop", ["scope": "app", "id": "shop", "action": "all"]).status == 200)
    // The one app that lists the caller is meant, also where it is not named.
    #expect(try await service.ask(.get, "/access", credentials).status == 403)
    #expect(try await service.ask(.get, "/access?app=help", credentials).status == 200)
    #expect(try await service.ask(.get, "/access", key).status == 200)
    #expect(
      try await post(service, "/admin/stop", ["scope": "caller", "id": "partner", "action": "access"]).status
        == 200)
    #expect(try await service.ask(.get, "/access", key).status == 403)
    let status = try json(try await service.ask(.get, "/admin/status", operatorFields))
    #expect(
      status["stops"]?.array?.map { stop in
        ["scope", "id", "action"].map { stop[$0]?.string ?? "-" }.joined(separator: " ")
      } == ["app shop all", "caller partner access"])
    _ = try await service.end()
  }

  @Test func `a stop that would stop nothing is refused, each mistake by name`() async throws {
    let service = try RunningService(environment: environment)
    let mistakes: [(JSONValue, [String])] = [
      ([:], ["scope", "action"]), (["scope": "everyone", "action": "all"], ["scope"]),
      (["scope": "app", "action": "all"], ["id"]), (["scope": "caller", "id": "", "action": "all"], ["id"]),
      (["scope": "all", "id": "shop", "action": "all"], ["id"]),
      (["scope": "all", "action": "calls"], ["action"]), (["scope": "all"], ["action"]),
      (["scope": 1, "action": "all"], ["scope", "scope"]),
      (["scope": "all", "action": "all", "for": "1h"], ["for"]),
      (["scope": "app", "id": "example-app-iso", "action": "all"], ["id"]),
      (["scope": "caller", "id": "defualt", "action": "all"], ["id"]),
    ]
    for (content, names) in mistakes {
      for path in ["/admin/stop", "/admin/resume"] {
        let answer = try await post(service, path, content)
        #expect(answer.status == 422)
        #expect(try json(answer)["code"]?.string == "invalid_request")
        #expect(try json(answer)["fields"]?.array?.compactMap { $0["name"]?.string } == names)
      }
    }
    for content in ["", "{", "[]"] {
      let answer = try await service.ask(.post, "/admin/stop", operatorFields, content: Array(content.utf8))
      #expect(answer.status == 400)
      #expect(try json(answer)["code"]?.string == "invalid_json")
    }
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    _ = try await service.end()
  }

  @Test func `explain answers with what is used and stopped now, and takes nothing`() async throws {
    let service = try RunningService(
      environment: environment, yaml: "rules: [{ name: daily, kind: quota, key: caller, limit: 2, per: day }]"
    )
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    func explain(_ more: JSONObject = [:]) async throws -> JSONValue {
      var question: JSONObject = ["action": "access", "caller": "default"]
      for (name, value) in more.members { question[name] = value }
      let answer = try await post(service, "/admin/explain", .object(question))
      #expect(answer.status == 200)
      return try json(answer)
    }
    let allowed: JSONValue = ["decision": "allow", "verdicts": [["rule": "daily", "verdict": "allow"]]]
    for _ in 0..<3 { #expect(try await explain() == allowed) }
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    let denied: JSONValue = [
      "decision": "deny", "code": "quota_exhausted", "rule": "daily",
      "verdicts": [["rule": "daily", "verdict": "deny"]],
    ]
    #expect(try await explain() == denied)
    #expect(try await explain(["counts": ["daily": 1]]) == allowed)
    #expect(
      try await explain(["caller": "anonymous"]) == [
        "decision": "deny", "code": "unauthenticated", "verdicts": [],
      ])
    #expect(try await explain(["caller": .null]) == allowed)
    _ = try await post(service, "/admin/stop", ["scope": "all", "action": "all"])
    #expect(
      try await explain() == [
        "decision": "deny", "code": "stopped", "verdicts": [["rule": "daily", "verdict": "skipped"]],
      ])
    let wrong = try await post(
      service, "/admin/explain",
      ["action": "access", "caller": "nobody", "fields": "a", "counts": ["daily": "1"], "claims": []])
    #expect(wrong.status == 422)
    let more = try await post(
      service, "/admin/explain", ["action": "access", "caller": "nobody", "at": "now"])
    #expect(try json(more)["fields"]?.array?.compactMap { $0["name"]?.string } == ["caller", "at"])
    _ = try await service.end()
  }

  @Test func `the own listener asks for no token on loopback, and serves no web page`() async throws {
    let service = try RunningService(
      environment: ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"], yaml: "admin: { port: 0 }")
    let address = try #require(try await service.line("operators are served")["address"]?.string)
    let base = "http://\(address)"
    let status = try await service.ask(.get, at: "\(base)/admin/status")
    #expect(status.status == 200)
    #expect(try json(status)["status"]?.string != nil)
    #expect(try await service.ask(.get, at: "\(base)/livez").status == 200)
    #expect(try await service.ask(.get, at: "\(base)/readyz").status == 200)
    #expect(try await service.ask(.get, at: "\(base)/access", credentials).status == 404)
    // A page in a browser on this machine.
    let stop = JSONValue.object(["scope": "all", "action": "all"]).serialized()
    for fields: Fields in [["Origin": "https://evil.example"], ["Origin": "null"]] {
      let answer = try await service.ask(.post, at: "\(base)/admin/stop", fields, content: stop)
      #expect(answer.status == 403)
    }
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    #expect(try await service.ask(.post, at: "\(base)/admin/stop", content: stop).status == 200)
    #expect(try await service.ask(.get, "/access", credentials).status == 403)
    // The public port knows nothing of it.
    #expect(try await service.ask(.get, "/admin/status").status == 404)
    _ = try await service.end()
  }
}
