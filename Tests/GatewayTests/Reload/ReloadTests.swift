// Tests of how a running server applies a changed configuration.

import HTTP
import JOSE
import JSON
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct ReloadTests {
  private let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass",
    "CALLGATE_ADMIN_TOKEN": "canary-operators-token",
  ]
  private let operatorFields: Fields = ["Authorization": "Bearer canary-operators-token"]
  private var credentials: Fields {
    ["Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8))]
  }

  private func json(_ response: InboundResponse) throws -> JSONValue {
    try JSONValue(parsing: response.content)
  }

  /// The rules run before the cache. This test makes sure that it stays so.
  @Test func `a cached token is refused on the first request after a rule was changed`() async throws {
    let service = try RunningService(environment: environment, yaml: "rules: []")
    for _ in 0..<3 { #expect(try await service.ask(.get, "/access", credentials).status == 200) }
    service.rewrite("rules: [{ name: office, kind: addresses, allow: [203.0.113.0/24] }]")
    #expect(await service.reload())
    for path in ["/access", "/access?probe"] {
      let answer = try await service.ask(.get, path, credentials)
      #expect(answer.status == 403)
      #expect(try json(answer)["rule"]?.string == "office")
    }
    service.rewrite("rules: []")
    #expect(await service.reload())
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    // The token stayed cached throughout.
    #expect(try await service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 1)
    let caches = try await service.end().filter { $0["log"]?.string == "audit" }.map { $0["cache"]?.string }
    #expect(caches == ["miss", "hit", "hit", "none", "none", "hit"])
  }

  @Test func `what was used stays used, and what was stopped stays stopped`() async throws {
    let rule = "{ name: daily, kind: quota, key: caller, limit: 2, per: month }"
    let service = try RunningService(environment: environment, yaml: "rules: [\(rule)]")
    for _ in 0..<2 { #expect(try await service.ask(.get, "/access", credentials).status == 200) }
    service.rewrite("rules: [{ name: other, kind: field, field: X, equals: a, mode: audit }, \(rule)]")
    #expect(await service.reload())
    #expect(try await service.ask(.get, "/access", credentials).status == 429)
    // A more generous rule with the same name continues from the count so far.
    service.rewrite("rules: [{ name: daily, kind: quota, key: caller, limit: 3, per: month }]")
    #expect(await service.reload())
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    #expect(try await service.ask(.get, "/access", credentials).status == 429)

    service.rewrite("rules: []")
    let stop = JSONValue.object(["scope": "all", "action": "all"]).serialized()
    #expect(try await service.ask(.post, "/admin/stop", operatorFields, content: stop).status == 200)
    #expect(await service.reload())
    #expect(try json(try await service.ask(.get, "/access", credentials))["code"]?.string == "stopped")
    _ = try await service.end()
  }

  @Test func `a wrong configuration is reported with its place, and the old one stays in use`() async throws {
    let service = try RunningService(
      environment: environment, yaml: "rules: [{ name: a, kind: field, field: X-Key, equals: a }]")
    service.rewrite("rules: [{ name: a, kind: feild, field: X-Key, equals: b }]\nlog: { level: loud }")
    let answer = try await service.ask(.post, "/admin/reload", operatorFields)
    #expect(answer.status == 422)
    #expect(
      try json(answer)["fields"]?.array?.compactMap { $0["name"]?.string } == [
        "CALLGATE_CONFIG_TEXT:1:26", "CALLGATE_CONFIG_TEXT:2:15",
      ])
    #expect(try await service.ask(.get, "/access", credentials.adding("X-Key", "a")).status == 200)
    #expect(try await service.ask(.get, "/access", credentials.adding("X-Key", "b")).status == 403)
    let status = try json(try await service.ask(.get, "/admin/status", operatorFields))["configuration"]
    #expect(status?["generation"]?.int == 1)
    #expect(status?["last_reload"]?["status"]?.string == "failed")
    #expect(
      status?["last_reload"]?["problems"]?.array?.first?.string?.contains("did you mean \"field\"?") == true)

    service.rewrite("rules: [{ name: a, kind: field, field: X-Key, equals: b }]")
    let mended = try await service.ask(.post, "/admin/reload", operatorFields)
    #expect(mended.status == 200)
    #expect(try json(mended)["generation"]?.int == 2)
    #expect(try await service.ask(.get, "/access", credentials.adding("X-Key", "b")).status == 200)
    let lines = try await service.end()
    #expect(
      lines.contains {
        $0["problem"]?.string?.hasPrefix("CALLGATE_CONFIG_TEXT:1:26: rule \"a\": kind:") == true
      }
    )
    #expect(lines.contains { $0["message"]?.string == "configuration reloaded" })
  }

  @Test(arguments: [" ", "# Nothing but a comment.\n"])
  func `an emptied file drops no rule`(_ text: String) async throws {
    let service = try RunningService(
      environment: environment, yaml: "rules: [{ name: a, kind: field, field: X-Key, equals: a }]")
    service.rewrite(text)
    let answer = try await service.ask(.post, "/admin/reload", operatorFields)
    #expect(answer.status == 422)
    let fields = try json(answer)["fields"]?.array ?? []
    #expect(fields.compactMap { $0["name"]?.string } == ["CALLGATE_CONFIG_TEXT:1:1"])
    #expect(fields.first?["description"]?.string?.hasPrefix("the file is empty") == true)
    #expect(try await service.ask(.get, "/access", credentials).status == 403)
    // An empty mapping removes the rules.
    service.rewrite("{}")
    #expect(await service.reload())
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    _ = try await service.end()
  }

  @Test func `callers, apps and the log's level follow a reload; what needs a start is named`() async throws {
    let service = try RunningService(environment: environment, yaml: "log: { level: info }")
    let key = Hex.encode(SHA256.digest(Array("canary-key".utf8)))
    let partner: Fields = ["X-API-Key": "canary-key"]
    #expect(try await service.ask(.get, "/access", partner).status == 401)
    service.rewrite(
      """
      callers: [{ id: partner, api_key: { sha256: \(key) } }]
      apps: { shop: { callers: [partner] } }
      log: { level: warning }
      limits: { connections: 7, drain_delay: 1ms }
      admin: { port: 0 }
      """)
    let answer = try await service.ask(.post, "/admin/reload", operatorFields)
    #expect(try json(answer)["restart_needed"] == ["admin.host, admin.port", "limits"])
    #expect(try await service.ask(.get, "/access", partner).status == 200)
    #expect(try await service.ask(.post, "/token/shop", partner).status == 201)
    #expect(try await service.ask(.post, "/token/example-app-ios", credentials).status == 404)
    service.rewrite("log: { level: warning }")
    #expect(await service.reload())
    #expect(try await service.ask(.get, "/access", partner).status == 401)
    let messages = try await service.end().compactMap { $0["message"]?.string }
    // The first reload was logged before the log level excluded it.
    #expect(messages.contains("a changed setting takes effect after a restart"))
    #expect(!messages.contains { $0.hasPrefix("draining") })
  }

  @Test func `reloads at once are done one after the other, and the last one counts`() async throws {
    let service = try RunningService(environment: environment, yaml: "rules: []")
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          service.rewrite("rules: [{ name: r\(number), kind: field, field: X, equals: a, mode: audit }]")
          _ = await service.reload()
        }
      }
    }
    service.rewrite("rules: [{ name: last, kind: field, field: X, equals: a }]")
    #expect(await service.reload())
    let status = try json(try await service.ask(.get, "/admin/status", operatorFields))
    #expect(status["configuration"]?["generation"]?.int == 10)
    #expect(status["rules"]?.array?.first?["name"]?.string == "last")
    _ = try await service.end()
  }
}
