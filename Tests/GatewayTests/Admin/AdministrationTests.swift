// Tests of the admin endpoints of a running server: status, kill switch, reload and explanations.

import Foundation
import HTTP
import JOSE
import JSON
import TestSupport
import Testing

@testable import Admin
@testable import Deciding
@testable import Gateway
@testable import SQLiteStore
@testable import Store

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
    // The admin token does not work as an app's key.
    #expect(try await service.ask(.get, "/access", operatorFields).status == 401)
    let lines = try await service.end()
    #expect(!lines.contains { String(decoding: $0.serialized(), as: UTF8.self).contains(Self.token) })
  }

  @Test func `a stop applies from the next request on, before the app, and ends with resume`() async throws {
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
    // Authentication still comes first.
    #expect(try await service.ask(.get, "/access").status == 401)
    let resumed = try await post(service, "/admin/resume", ["scope": "all", "action": "all"])
    #expect(try json(resumed) == ["stops": []])
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    let again = try await post(service, "/admin/resume", ["scope": "all", "action": "all"])
    #expect(try again.status == 200 && json(again) == ["stops": []])
    let lines = try await service.end()
    let audits = lines.filter { $0["log"]?.string == "audit" && $0["action"] == "access" }
    #expect(
      audits.map { $0["code"]?.string } == [nil, "stopped", "stopped", "stopped", "unauthenticated", nil])
    let changes = lines.filter {
      $0["log"]?.string == "audit" && $0["operator"] == "admin" && $0["by"] == "token"
    }
    #expect(changes.map { $0["action"]?.string } == ["stop", "resume", "resume"])
    #expect(changes.first?["reason"] == "access for all")
    #expect(lines.contains { $0["message"]?.string == "stopped by an operator" })
    #expect(
      audits[1]["reason"]?.string?.hasPrefix("an operator stopped action access of everyone at ") == true)
    // Only one of the two resumes ended a stop.
    #expect(
      lines.filter { $0["scope"]?.string == "all" }.map {
        "\($0["level"]?.string ?? "") \($0["message"]?.string ?? "")"
      }
        == [
          "warning stopped by an operator", "warning resumed by an operator",
          "info nothing to resume: it was not stopped",
        ])
  }

  @Test func `an app and a caller are stopped by name`() async throws {
    let service = try RunningService(
      environment: environment,
      yaml: """
        callers: [{ id: partner, api_key: { sha256: \(Hex.encode(SHA256.digest(Array("canary-key".utf8)))) } }]
        apps: { shop: { callers: [default] }, desk: { callers: [partner] }, help: {} }
        """)
    let key: Fields = ["X-API-Key": "canary-key"]
    #expect(
      try await post(service, "/admin/stop", ["scope": "app", "id": "shop", "action": "all"]).status == 200)
    // A request that names no app means the only app that lists the caller.
    #expect(try await service.ask(.get, "/access", credentials).status == 403)
    // The audit line names an app that refuses its caller, just as it names a stopped one.
    #expect(try await service.ask(.get, "/access?app=desk", credentials).status == 403)
    #expect(try await service.ask(.post, "/token/desk", credentials).status == 403)
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
    let refused = try await service.end().filter { $0["decision"]?.string == "deny" }
    #expect(refused.map { $0["app"]?.string } == ["shop", "desk", "desk", "desk"])
    #expect(
      refused.prefix(3).map { $0["reason"]?.string?.prefix(46) } == [
        "an operator stopped action access of app shop ", "caller default is not listed for app desk",
        "caller default is not listed for app desk",
      ])
  }

  @Test func `a stop has a reason and an end, which operators see and callers do not`() async throws {
    let service = try RunningService(environment: environment)
    let stopped = try await post(
      service, "/admin/stop",
      ["scope": "all", "action": "access", "reason": "agents are ill", "for": "3500ms"])
    #expect(stopped.status == 200)
    let stop = try json(stopped)["stops"]?.array?.first
    #expect(stop?["reason"]?.string == "agents are ill")
    let (since, until) = (stop?["since"]?.string ?? "", stop?["until"]?.string ?? "")
    // Fractions of a second are rounded up, so the stop does not end early.
    #expect(until > since && until.hasSuffix("Z"), "\(since) \(until)")
    let status = try json(try await service.ask(.get, "/admin/status", operatorFields))
    #expect(status["stops"]?.array?.first == stop)
    let refused = try await service.ask(.get, "/access", credentials)
    #expect(refused.status == 403)
    #expect(try json(refused)["code"]?.string == "stopped")
    #expect(!String(decoding: refused.content, as: UTF8.self).contains("ill"))
    let ended = try await service.line("a stop has ended")
    #expect(ended["reason"]?.string == "agents are ill")
    #expect(ended["until"]?.string == until)
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    let lines = try await service.end()
    let made = lines.first { $0["message"]?.string == "stopped by an operator" }
    #expect(made?["reason"]?.string == "agents are ill")
    #expect(made?["until"]?.string == until)
    #expect(lines.count { $0["message"]?.string == "a stop has ended" } == 1)
    let audit = lines.first { $0["log"]?.string == "audit" && $0["code"]?.string == "stopped" }
    #expect(audit?["reason"]?.string?.hasSuffix(" until \(until): agents are ill") == true)
  }

  @Test func `of a stop that could not be saved the log says whose it was, and when it is saved`()
    async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "admin-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "state.sqlite3").path
    let store = SQLiteStore(path: file)
    try await store.migrate()
    await store.close()
    let service = try RunningService(environment: environment.merging(["CALLGATE_STATE": file]) { $1 })
    // Another process holds the write lock, so the file can only be read.
    let other = try SQLiteConnection(path: file)
    try other.execute("BEGIN IMMEDIATE")
    let stop: JSONValue = [
      "scope": "caller", "id": "default", "action": "access", "reason": "agents are ill",
    ]
    #expect(try await post(service, "/admin/stop", stop).status == 503)
    #expect(try await service.ask(.get, "/access", credentials).status == 403)
    let resume: JSONValue = ["scope": "app", "id": "example-app-ios", "action": "all"]
    #expect(try await post(service, "/admin/resume", resume).status == 503)
    try other.execute("ROLLBACK")
    let lapsed = try await service.line("a stop that was not saved has ended because the database is back")
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    let lines = try await service.end()
    func line(_ beginning: String) -> JSONValue? {
      lines.first { $0["message"]?.string?.hasPrefix(beginning) == true }
    }
    let unsaved = try #require(line("stopped by an operator, but not saved"))
    for (line, isRequest) in [(lapsed, false), (unsaved, true)] {
      #expect(line["scope"]?.string == "caller" && line["id"]?.string == "default")
      #expect(line["action"]?.string == "access" && line["reason"]?.string == "agents are ill")
      #expect(line["address"]?.string == (isRequest ? "127.0.0.1" : nil))
    }
    #expect(unsaved["level"]?.string == "error" && unsaved["error.message"]?.string?.isEmpty == false)
    let refused = try #require(line("not resumed"))
    #expect(refused["scope"]?.string == "app" && refused["id"]?.string == "example-app-ios")
    #expect(refused["address"]?.string == "127.0.0.1")
  }

  @Test func `of a resume that the store did not confirm the operator and the log say so`() {
    let lost = StoreError(.unavailable, "receive", "lost")
    #expect(UnsavedChange.resume(lost).detail.hasSuffix("nothing has changed."))
    #expect(UnsavedChange.resume(lost).log.hasPrefix("not resumed"))
    let inDoubt = UnsavedChange.resume(StoreError(.unavailable, "receive", "lost", isInDoubt: true))
    #expect(inDoubt.detail.contains("the resume may not be saved. Run `callgate status`"))
    #expect(!inDoubt.detail.contains("nothing has changed"))
    #expect(inDoubt.log.hasPrefix("the resume may not be saved"))
    #expect(!UnsavedChange.stop(lost).detail.contains("callgate status"))
    let stopped = UnsavedChange.stop(StoreError(.unavailable, "receive", "lost", isInDoubt: true))
    #expect(stopped.detail.contains("run `callgate status`"))
  }

  @Test func `a reason is a line of 200 characters, and an end is a duration of at most a year`() async throws
  {
    let service = try RunningService(environment: environment)
    let everything: JSONObject = ["scope": "all", "action": "all"]
    let long = String(repeating: "é", count: 200)
    for (name, value, isTaken) in [
      ("reason", long, true), ("reason", long + "e", false), ("reason", "", false), ("reason", " ", false),
      ("reason", "two\nlines", false), ("reason", "a\u{202E}b", false), ("reason", "a\u{0}b", false),
      ("for", "1s", true), ("for", "365d", true), ("for", "999ms", false), ("for", "366d", false),
      ("for", "30", false), ("for", "half an hour", false), ("for", "-1s", false), ("for", "", false),
    ] as [(String, String, Bool)] {
      var content = everything
      content[name] = .string(value)
      let answer = try await post(service, "/admin/stop", .object(content))
      #expect(answer.status == (isTaken ? 200 : 422), "\(name) \(value)")
      if !isTaken { #expect(try json(answer)["fields"]?.array?.map { $0["name"]?.string } == [name]) }
      content["reason"] = "x"
      content["for"] = "1s"
      #expect(try await post(service, "/admin/resume", .object(content)).status == 422)
      #expect(try await post(service, "/admin/resume", .object(everything)).status == 200)
    }
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
      (["scope": "all", "action": "all", "until": "1h"], ["until"]),
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
    func allowed(_ used: Int) -> JSONValue {
      [
        "decision": "allow", "reason": "Allowed: the one rule that applies does not refuse it.",
        "verdicts": [
          [
            "rule": "daily", "verdict": "allow",
            "reason": .string("\(used) of 2 used by caller default this day (UTC)"),
          ]
        ],
      ]
    }
    for _ in 0..<3 { #expect(try await explain() == allowed(1)) }
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    let denied = try await explain()
    #expect(denied["decision"]?.string == "deny" && denied["code"]?.string == "quota_exhausted")
    #expect(denied["rule"]?.string == "daily")
    let reason = try #require(denied["verdicts"]?.array?.first?["reason"]?.string)
    #expect(reason.hasPrefix("2 of 2 used by caller default this day (UTC); the next day begins "))
    #expect(denied["reason"]?.string == "Refused by daily (quota_exhausted): \(reason).")
    #expect(try await explain(["counts": ["daily": 1]]) == allowed(1))
    #expect(
      try await explain(["caller": "anonymous"]) == [
        "decision": "deny", "code": "unauthenticated",
        "reason": .string("Refused without a rule (unauthenticated): \(Explanation.noCredential)."),
        "verdicts": [],
      ])
    #expect(try await explain(["caller": .null])["decision"]?.string == "allow")
    _ = try await post(service, "/admin/stop", ["scope": "all", "action": "all", "reason": "a drill"])
    let stopped = try await explain()
    #expect(stopped["decision"]?.string == "deny" && stopped["code"]?.string == "stopped")
    #expect(
      stopped["reason"]?.string?.hasPrefix("Refused without a rule (stopped): an operator stopped") == true)
    #expect(stopped["reason"]?.string?.contains("a drill") == true)
    #expect(
      stopped["verdicts"] == [
        ["rule": "daily", "verdict": "skipped", "because": "not_reached", "reason": "no rule was evaluated"]
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
    let address = try #require(try await service.line("admin listener started")["address"]?.string)
    let base = "http://\(address)"
    let status = try await service.ask(.get, at: "\(base)/admin/status")
    #expect(status.status == 200)
    #expect(try json(status)["status"]?.string != nil)
    #expect(try await service.ask(.get, at: "\(base)/livez").status == 200)
    #expect(try await service.ask(.get, at: "\(base)/readyz").status == 200)
    #expect(try await service.ask(.get, at: "\(base)/access", credentials).status == 404)
    // Requests from a page in a browser on this machine.
    let stop = JSONValue.object(["scope": "all", "action": "all"]).serialized()
    for fields: Fields in [["Origin": "https://evil.example"], ["Origin": "null"]] {
      let answer = try await service.ask(.post, at: "\(base)/admin/stop", fields, content: stop)
      #expect(answer.status == 403)
    }
    #expect(try await service.ask(.get, "/access", credentials).status == 200)
    #expect(try await service.ask(.post, at: "\(base)/admin/stop", content: stop).status == 200)
    #expect(try await service.ask(.get, "/access", credentials).status == 403)
    // The public port does not serve this path.
    #expect(try await service.ask(.get, "/admin/status").status == 404)
    _ = try await service.end()
  }

  @Test func `operators list every caller's callbacks, masked and in pages`() async throws {
    let service = try RunningService(
      environment: environment.merging(["TD_PHONE_NUMBER": "+18500000000"]) { $1 })
    // One callback that Talkdesk accepts, and one whose outcome is unknown.
    let asked = { (number: String) in
      Array(#"{"contact_phone_number":"\#(number)"}"#.utf8)
    }
    let fields: Fields = [
      "Authorization": credentials["Authorization"] ?? "", "Content-Type": "application/json",
    ]
    #expect(
      try await service.ask(.post, "/calls/callback", fields, content: asked("+14155550123")).status == 201)
    try await service.tellTalkdesk(
      .post, "/_sandbox/faults", ["endpoint": "callback", "status": 500, "times": 1])
    let failed = try await service.ask(.post, "/calls/callback", fields, content: asked("+14155550145"))
    #expect(failed.status == 502)
    let all = try json(try await service.ask(.get, "/admin/callbacks", operatorFields))
    let list = all["callbacks"]?.array ?? []
    #expect(list.map { $0["status"]?.string } == ["unknown", "accepted"])
    #expect(list.map { $0["contact_phone_number"]?.string } == ["+*********45", "+*********23"])
    #expect(list.someAndAll { $0["caller"]?.string == "default" })
    #expect(list.first?["upstream_status"]?.int == 500)
    #expect(list.first?["id"] == (try json(failed))["id"])
    #expect(all["next"] == nil)
    let unknown = try await service.ask(.get, "/admin/callbacks?status=unknown&limit=1", operatorFields)
    let page = try json(unknown)
    #expect(page["callbacks"]?.array == Array(list.prefix(1)))
    let next = try #require(page["next"]?.string)
    #expect(next == list.first?["id"]?.string)
    let after = try json(
      try await service.ask(.get, "/admin/callbacks?limit=1000&after=\(next)", operatorFields))
    #expect(after["callbacks"]?.array == Array(list.suffix(1)))
    #expect(unknown.fields["Cache-Control"] == "no-store")
    #expect(try await service.ask(.get, "/admin/callbacks").status == 401)
    let lines = try await service.end()
    #expect(!lines.contains { String(decoding: $0.serialized(), as: UTF8.self).contains("4155550") })
  }

  @Test func `what a list of callbacks is asked with is checked, each by name`() async throws {
    let service = try RunningService(environment: environment)
    for (query, names) in [
      ("status=open", ["status"]), ("status=", ["status"]), ("status=unknown&status=failed", ["status"]),
      ("after=1", ["after"]), ("limit=0", ["limit"]), ("limit=1001", ["limit"]), ("limit=-1", ["limit"]),
      ("limit=1e3", ["limit"]), ("limit=&after=x&status=y", ["status", "after", "limit"]),
    ] {
      let answer = try await service.ask(.get, "/admin/callbacks?\(query)", operatorFields)
      #expect(answer.status == 422, "\(query)")
      #expect(try json(answer)["fields"]?.array?.compactMap { $0["name"]?.string } == names, "\(query)")
    }
    #expect(try await service.ask(.get, "/admin/callbacks?limit=1000", operatorFields).status == 200)
    #expect(try await service.ask(.post, "/admin/callbacks", operatorFields).status == 405)
    _ = try await service.end()
  }
}
