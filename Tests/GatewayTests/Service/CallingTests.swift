// Tests of `POST /calls/callback` on a running server, from the request to the audit record.

import Gate
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway
@testable import RoomSupport

/// `POST /calls/callback` over loopback.
@Suite(.serialized, .timeLimit(.minutes(5))) struct CallingTests {
  @Test func `a callback is made, told of, and found again by its id`() async throws {
    let fixture = try CallingFixture()
    let answer = try await fixture.call()
    #expect(answer.summary == "201")
    let document = try #require(answer.json?.object)
    #expect(document.members.map(\.name) == ["id", "status", "created_at", "contact_phone_number"])
    #expect(document["status"]?.string == "accepted")
    #expect(document["contact_phone_number"]?.string == "+*********00")
    let id = try #require(answer.id)
    #expect(answer.fields["Location"] == "/callbacks/\(id)")
    #expect(answer.fields["Cache-Control"] == "no-store")
    let record = try await fixture.look("/callbacks/\(id)")
    #expect(record.status == 200 && record.fields["Cache-Control"] == "no-store")
    #expect(record.id == id && record.json?["status"]?.string == "accepted")
    #expect(record.json?["created_at"] == document["created_at"])
    #expect(record.json?["contact_phone_number"]?.string == "+*********00")
    #expect(record.json?["settled_at"]?.string != nil && record.json?["reason"] == nil)
    let journal = try await fixture.journal()
    #expect(journal.rings == [customerNumber: 1])
    let sent = try #require(journal.callbacks.first)
    #expect(sent["talkdesk_phone_number"]?.string == accountNumber)
    let field = try #require(sent["context"]?["fields"]?.array?.first)
    #expect(field["name"]?.string == "issue" && field["value"]?.string == "help")
    #expect(field["display_name"]?.string == "issue" && field["tooltip_text"]?.string == "issue")
    #expect(field["data_type"]?.string == "text")

    let audits = try await fixture.end()
    #expect(audits.count == 1)
    #expect(audits[0]["action"]?.string == "callback" && audits[0]["decision"]?.string == "allow")
    #expect(audits[0]["contact"]?.string == "+*********00" && audits[0]["cache"]?.string == "miss")
    #expect(audits[0]["upstream_status"]?.int == 201)
  }

  @Test func `every request is audited once, whatever becomes of it, and nothing else is`() async throws {
    let fixture = try CallingFixture()
    let stranger: Fields = ["Authorization": "Basic eDp5"]
    #expect(try await fixture.call(fields: [:]).summary == "401 unauthenticated")
    #expect(try await fixture.call(fields: stranger).status == 401)
    #expect(try await fixture.call(path: "/callbacks?app=none").summary == "404 unknown_app")
    #expect(try await fixture.call(type: nil).summary == "415 unsupported_media_type")
    #expect(try await fixture.call(body: "{").summary == "400 invalid_json")
    #expect(try await fixture.call("0049").summary == "422 invalid_request")
    #expect(try await fixture.call(path: "/callbacks?validate").json?["valid"] == true)
    let made = try await fixture.call(path: "/callbacks", key: "k")
    #expect(made.summary == "201")
    #expect(try await fixture.call(key: "k").summary == "201")
    #expect(try await fixture.call().summary == "409 duplicate")
    #expect(try await fixture.call(path: "/callbacks?validate", key: "k").json?["valid"] == true)
    let other = try await fixture.service.ask(.get, "/calls/callback", CallingFixture.credentials)
    #expect(other.status == 405 && other.fields["Allow"] == "POST, OPTIONS")
    #expect(try await fixture.look("/callbacks/none").summary == "404 not_found")
    #expect(try await fixture.look("/availability").status == 200)
    #expect(try await fixture.journal().rings == [customerNumber: 1])

    let audits = try await fixture.end()
    #expect(
      audits.map { $0["code"]?.string } == [
        "unauthenticated", "unauthenticated", "unknown_app", "unsupported_media_type", "invalid_json",
        "invalid_request", nil, nil, nil, "duplicate", nil,
      ])
    #expect(audits.someAndAll { $0["action"]?.string == "callback" })
    #expect(
      audits.map { $0["decision"]?.string } == [
        "deny", "deny", "deny", "deny", "deny", "deny", "allow", "allow", "allow", "deny",
        "allow",
      ])
    // A callback's audit lines name its record, and mark those that only repeat its response.
    let id = try #require(made.id)
    #expect(
      audits.map { $0["callback"]?.string } == [nil, nil, nil, nil, nil, nil, nil, id, id, id, nil])
    #expect(
      audits.map { $0["replay"] } == [nil, nil, nil, nil, nil, nil, nil, nil, true, nil, true])
    // A replay evaluates no rule and sends nothing to Talkdesk.
    #expect(audits[7]["verdicts"]?.array?.count == 4 && audits[8]["verdicts"]?.array?.count == 0)
    #expect(audits[8]["upstream_status"] == nil && audits[8]["cache"]?.string == "none")
    // A validation sends nothing to Talkdesk either.
    #expect(audits[6]["upstream_status"] == nil && audits[6]["verdicts"]?.array?.count == 4)
  }

  @Test func `each step refuses before the next one looks`() async throws {
    let fixture = try CallingFixture(
      yaml: """
        apps:
          mine: { callers: [default] }
          theirs: { callers: [other] }
        callers: [{ id: other, api_key: { sha256: "\(String(repeating: "0", count: 64))" } }]
        rules:
          - { name: shut, kind: field, field: X-Open, equals: "yes" }
          - { name: once, kind: quota, key: caller, limit: 1, per: month }
        """, environment: ["CALLGATE_ADMIN_TOKEN": "canary-operator-token"])
    let open = CallingFixture.credentials.adding("X-Open", "yes")
    // Everything is wrong at first, and is corrected step by step.
    #expect(
      try await fixture.call(
        "1", path: "/callbacks?app=theirs", key: "a b", fields: ["Authorization": "Basic eDp5"], type: nil
      ).status == 401)
    #expect(
      try await fixture.call("1", path: "/callbacks?app=theirs", key: "a b", type: nil).summary
        == "403 denied")
    #expect(try await fixture.call("1", key: "a b", type: nil).summary == "415 unsupported_media_type")
    #expect(try await fixture.call(key: "a b", body: "{").summary == "400 invalid_json")
    let invalid = try await fixture.call("1", key: "a b")
    #expect(invalid.summary == "422 invalid_request")
    #expect(invalid.names == ["contact_phone_number", "Idempotency-Key"])
    #expect(try await fixture.call(key: "a b").names == ["Idempotency-Key"])
    #expect(try await fixture.call(key: "k").summary == "403 denied")
    let made = try await fixture.call(key: "k", fields: open)
    #expect(made.summary == "201")
    // The key is checked before the rules, the rules before the duplicate, and that before the quota.
    #expect(try await fixture.call(key: "k").content == made.content)
    #expect(try await fixture.call("+14155550111", key: "k").summary == "422 idempotency_mismatch")
    #expect(try await fixture.call().summary == "403 denied")
    let duplicate = try await fixture.call(fields: open)
    #expect(duplicate.summary == "409 duplicate" && duplicate.id == made.id)
    #expect(try await fixture.call("+14155550111", fields: open).summary == "429 quota_exhausted")
    // The kill switch is checked before the app.
    let stop = try await fixture.service.ask(
      .post, "/admin/stop", ["Authorization": "Bearer canary-operator-token"],
      content: Array(#"{"scope":"all","action":"callback"}"#.utf8))
    #expect(stop.status == 200)
    #expect(try await fixture.call("1", path: "/callbacks?app=theirs").summary == "403 stopped")
    #expect(try await fixture.service.ask(.get, "/access", open).status == 429)
    #expect(try await fixture.journal().arrivals == 1)
    _ = try await fixture.end()
  }

  @Test func `a duplicate comes before the allowances, and takes none`() async throws {
    let fixture = try CallingFixture(
      yaml: "rules: [{ name: twice, kind: quota, key: caller, limit: 2, per: month }]")
    let first = try await fixture.call()
    #expect(first.fields["RateLimit-Policy"]?.hasPrefix(#""twice";q=2"#) == true)
    #expect(first.fields["RateLimit"]?.hasPrefix(#""twice";r=1"#) == true)
    let second = try await fixture.call()
    #expect(second.summary == "409 duplicate" && second.id == first.id)
    let trial = try await fixture.call("+14155550111", path: "/callbacks?validate")
    #expect(trial.status == 200 && trial.fields["RateLimit"]?.hasPrefix(#""twice";r=1"#) == true)
    #expect(try await fixture.call("+14155550111").summary == "201")
    // A duplicate is reported as one, whether or not the quota is used up.
    let again = try await fixture.call()
    #expect(again.summary == "409 duplicate" && again.id == first.id)
    #expect(try await fixture.call(path: "/callbacks?validate").summary == "409 duplicate")
    let third = try await fixture.call("+14155550112")
    #expect(third.summary == "429 quota_exhausted" && third.fields["RateLimit"] != nil)
    #expect(try await fixture.call("+14155550112", path: "/callbacks?validate").summary == third.summary)
    _ = try await fixture.end()
  }

  /// What Talkdesk does, what the caller and the record get, and whether the key stays taken.
  struct Case: Sendable, CustomTestStringConvertible {
    let fault: JSONValue
    let answer: String
    let record: String
    let isBound: Bool
    let rings: Int64
    var testDescription: String { String(decoding: fault.serialized(), as: UTF8.self) }

    init(_ fault: JSONValue, _ answer: String, _ record: String, bound: Bool, rings: Int64 = 0) {
      self.fault = fault
      self.answer = answer
      self.record = record
      isBound = bound
      self.rings = rings
    }
  }

  static let html = "<html><body>Bad gateway</body></html>"
  static let cases: [Case] = [
    Case(["status": 200, "body": ""], "201", "accepted", bound: true, rings: 1),
    Case(["status": 202, "body": .string(html)], "201", "accepted", bound: true, rings: 1),
    Case(["status": 204], "201", "accepted", bound: true, rings: 1),
    Case(
      ["status": 200, "body": .string(String(repeating: "x", count: 100_000))], "201", "accepted",
      bound: true, rings: 1),
    Case(["status": 400, "body": .string(html)], "422 invalid_request", "failed", bound: true),
    Case(
      [
        "status": 422,
        "body": [
          "code": "1", "message": "secret words",
          "fields": [["name": "contact_phone_number", "description": "secret words"]],
        ],
      ], "422 invalid_request", "failed", bound: true),
    Case(["status": 415], "422 invalid_request", "failed", bound: true),
    Case(["status": 401, "times": 2], "502 upstream_refused", "failed", bound: false),
    Case(["status": 403], "502 upstream_refused", "failed", bound: false),
    Case(["status": 404, "body": .string(html)], "502 upstream_failed", "failed", bound: true),
    Case(["status": 503, "retry_after": 7], "503 upstream_unavailable", "failed", bound: false),
    Case(["status": 500], "502 upstream_failed", "unknown", bound: true),
    Case(["status": 502, "body": .string(html)], "502 upstream_failed", "unknown", bound: true),
    Case(["status": 504], "502 upstream_failed", "unknown", bound: true),
    Case(["status": 302], "502 upstream_failed", "unknown", bound: true),
    Case(["drop": "before"], "504 outcome_unknown", "unknown", bound: true),
    Case(["drop": "after"], "504 outcome_unknown", "unknown", bound: true, rings: 1),
    Case(["delay_ms": 3000], "504 outcome_unknown", "unknown", bound: true, rings: 1),
  ]

  @Test(arguments: cases)
  func `what Talkdesk answers decides answer, record, key and allowance`(_ example: Case) async throws {
    // A response that does come is in time even on a busy machine.
    let timeout = example.fault["delay_ms"] == nil ? "30s" : "2s"
    let fixture = try CallingFixture(
      yaml: """
        callbacks: { timeout: \(timeout) }
        rules: [{ name: one, kind: quota, key: caller, limit: 1, per: month }]
        """, environment: ["CALLGATE_ADMIN_TOKEN": "canary-operators-token"])
    // The token is cached first, so that the callback has all the time.
    #expect(try await fixture.look("/access?probe").status == 204)
    guard var fault = example.fault.object else { return }
    fault.append("endpoint", "callback")
    try await fixture.fault(.object(fault))
    let first = try await fixture.call(key: "k")
    #expect(first.summary == example.answer)
    #expect(!String(decoding: first.content, as: UTF8.self).contains("secret words"))
    let id = try #require(first.status >= 500 || first.status < 300 || first.status == 422 ? first.id : nil)
    let record = try await fixture.look("/callbacks/\(id)")
    #expect(record.json?["status"]?.string == example.record)
    #expect(record.json?["reason"]?.string == first.code)
    // Metrics, log and record use the same word for an unknown outcome.
    let metrics = String(
      decoding: try await fixture.look("/metrics", CallingFixture.operators).content, as: UTF8.self)
    #expect(metrics.contains("\ncallgate_callbacks_total{status=\"\(example.record)\"} 1\n"))
    let unknown = "\n" + #"callgate_upstream_requests_total{upstream="callback_api",outcome="unknown"} "#
    #expect(metrics.contains(unknown + (example.record == "unknown" ? "1\n" : "0\n")))
    #expect(first.status != 422 || (first.names.first ?? "contact_phone_number") == "contact_phone_number")
    #expect((first.status == 503) == (first.fields["Retry-After"] != nil))
    if first.status == 503 {
      #expect(first.fields["Retry-After"] == "7")
      // Talkdesk was asked and refused, so the text must not deny that.
      #expect(first.json?["detail"]?.string?.contains("no call was requested") == false)
    }

    // A repetition gets the first response, by status, members and meaning, or another attempt. The phone
    // never rings twice.
    let again = try await fixture.call(key: "k")
    if example.isBound {
      #expect(again.summary == first.summary && again.id == first.id && again.names == first.names)
      // All members except the request's own ID and the wording.
      func members(_ response: CallingFixture.Answer) -> [String] {
        response.json?.object?.members.filter { !["instance", "detail"].contains($0.name) }
          .map { "\($0.name): \($0.value.serialized())" } ?? []
      }
      #expect(members(again) == members(first))
      #expect(again.fields["Content-Type"] == first.fields["Content-Type"])
      #expect(again.fields["Location"] == first.fields["Location"])
      #expect(try await fixture.journal().rings == (example.rings == 0 ? [:] : [customerNumber: 1]))
    } else {
      #expect(again.summary == "201")
      #expect(try await fixture.journal().rings == [customerNumber: 1])
    }
    // A callback that was certainly not accepted takes nothing: the month's one request is still available,
    // or was just used.
    let another = try await fixture.call("+14155550111", key: "other")
    let isSpent = example.record != "failed" || !example.isBound
    #expect(another.summary == (isSpent ? "429 quota_exhausted" : "201"))
    let lines = try await fixture.service.end()
    let asked = try #require(lines.first { $0["log"]?.string == "log" && $0["id"]?.string == id })
    #expect((asked["outcome"]?.string == "unknown") == (example.record == "unknown"))
    #expect((asked["outcome"]?.string == "accepted") == (example.record == "accepted"))
    #expect(asked["outcome"]?.string != "failed")
    let audits = lines.filter { $0["log"]?.string == "audit" }
    let audit = try #require(audits.first { $0["action"]?.string == "callback" })
    #expect(audit["callback"]?.string == id && audit["replay"] == nil)
    #expect(audit["code"]?.string == first.code)
    #expect(
      audit["decision"]?.string == (first.status < 300 ? "allow" : first.status < 500 ? "deny" : "error"))
  }

  @Test func `a failed callback frees its place for the next one, an unknown one does not`() async throws {
    let fixture = try CallingFixture()
    try await fixture.fault(["endpoint": "callback", "status": 503])
    #expect(try await fixture.call().summary == "503 upstream_unavailable")
    try await fixture.fault(["endpoint": "callback", "status": 500])
    let unknown = try await fixture.call()
    #expect(unknown.summary == "502 upstream_failed")
    let duplicate = try await fixture.call()
    #expect(duplicate.summary == "409 duplicate" && duplicate.id == unknown.id)
    _ = try await fixture.end()
  }

  @Test func `a 401 is answered by one new token and one more try`() async throws {
    let fixture = try CallingFixture()
    #expect(try await fixture.call("+14155550110").summary == "201")
    try await fixture.fault(["endpoint": "callback", "status": 401])
    #expect(try await fixture.call("+14155550111").summary == "201")
    #expect(try await fixture.service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 2)
    let journal = try await fixture.journal()
    #expect(journal.arrivals == 3 && journal.rings.values.allSatisfy { $0 == 1 })
    // The next callback uses the refreshed token.
    #expect(try await fixture.call("+14155550112").summary == "201")
    #expect(try await fixture.service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 2)
    // Without a new token, the failure is Talkdesk ID's, and the key stays free.
    try await fixture.fault(["endpoint": "callback", "status": 401])
    try await fixture.fault(["endpoint": "token", "status": 400])
    let refused = try await fixture.call("+14155550113", key: "k")
    #expect(refused.summary == "502 upstream_refused")
    #expect(try await fixture.look("/callbacks/\(refused.id ?? "")").json?["status"]?.string == "failed")
    let cooling = try await fixture.call("+14155550113", key: "k")
    #expect(cooling.summary == "503 upstream_unavailable" && cooling.fields["Retry-After"] != nil)
    _ = try await fixture.end()
  }

  static let tokenFaults: [(JSONValue, String)] = [
    (["status": 401], "502 upstream_refused"), (["status": 400], "502 upstream_refused"),
    (["status": 403], "502 upstream_refused"), (["status": 503], "503 upstream_unavailable"),
    (["status": 429], "503 upstream_unavailable"), (["status": 200, "body": "{}"], "502 upstream_failed"),
    (["delay_ms": 4000], "504 upstream_timeout"),
  ]

  @Test(arguments: tokenFaults) func `where Talkdesk ID gives no token nothing is sent, kept or spent`(
    fault: JSONValue, summary: String
  ) async throws {
    let deadline = fault["delay_ms"] == nil ? "20s" : "1s"
    let fixture = try CallingFixture(
      yaml: """
        tokens: { deadline: \(deadline) }
        callbacks: { timeout: 30s }
        rules: [{ name: one, kind: quota, key: caller, limit: 1, per: month }]
        """)
    guard var members = fault.object else { return }
    members.append("endpoint", "token")
    members.append("times", 9)
    try await fixture.fault(.object(members))
    let refused = try await fixture.call(key: "k")
    #expect(refused.summary == summary && refused.id == nil)
    #expect((refused.status == 503) == (refused.fields["Retry-After"] != nil))
    // Quota and key are unchanged: the next attempt fails at Talkdesk ID again, not here.
    let again = try await fixture.call(key: "k")
    #expect(again.status >= 500)
    #expect(try await fixture.journal().arrivals == 0)
    _ = try await fixture.end()
  }

  @Test func `nothing listening there is certain: nothing was sent`() async throws {
    let fixture = try CallingFixture(environment: ["TD_API_URL": "http://127.0.0.1:9"])
    let answer = try await fixture.call(key: "k")
    #expect(answer.summary == "503 upstream_unavailable" && answer.fields["Retry-After"] != nil)
    #expect(answer.json?["detail"]?.string?.contains("no call was requested") == true)
    #expect(
      try await fixture.look("/callbacks/\(answer.id ?? "")").json?["reason"]?.string
        == "upstream_unavailable")
    _ = try await fixture.end()
  }

  @Test func `a 429 pauses the others, who get a time to retry and pay nothing`() async throws {
    let fixture = try CallingFixture(
      yaml: "rules: [{ name: two, kind: quota, key: caller, limit: 2, per: month }]")
    try await fixture.fault(["endpoint": "callback", "status": 429, "retry_after": 2])
    let first = try await fixture.call("+14155550110", key: "k")
    #expect(first.summary == "429 upstream_rate_limited" && first.fields["Retry-After"] == "2")
    #expect(first.json?["retry_after"]?.int == 2)
    for _ in 0..<3 {
      let paused = try await fixture.call("+14155550111")
      #expect(paused.summary == "429 upstream_rate_limited")
      #expect(["1", "2"].contains(paused.fields["Retry-After"]))
    }
    #expect(try await fixture.call("+14155550111", path: "/callbacks?validate").status == 200)
    #expect(try await fixture.journal().arrivals == 1)
    // A client that waits as told succeeds.
    try await Task.sleep(for: .seconds(2))
    #expect(try await fixture.call("+14155550110", key: "k").summary == "201")
    #expect(try await fixture.call("+14155550111").summary == "201")
    #expect(try await fixture.call("+14155550112").summary == "429 quota_exhausted")
    _ = try await fixture.end()
  }

  @Test func `a response with a shorter pause than the current one gives the current one`() async throws {
    let fixture = try CallingFixture()
    try await fixture.fault(["endpoint": "callback", "status": 429, "retry_after": 60, "delay_ms": 1000])
    try await fixture.fault(["endpoint": "callback", "status": 429, "retry_after": 1, "delay_ms": 1500])
    async let first = fixture.call("+14155550110")
    async let second = fixture.call("+14155550111")
    let waits = try await [first, second].map { answer in
      #expect(answer.summary == "429 upstream_rate_limited")
      return Int(answer.fields["Retry-After"] ?? "") ?? 0
    }
    #expect(waits.allSatisfy { (55...60).contains($0) }, "\(waits)")
    _ = try await fixture.end()
  }

  @Test func `of many requests at once with one key one is made, and the others get 409 or its response`()
    async throws
  {
    let fixture = try CallingFixture()
    try await fixture.fault(["endpoint": "callback", "delay_ms": 300, "times": 100])
    let answers = try await withThrowingTaskGroup(of: CallingFixture.Answer.self) { group in
      for _ in 0..<20 { group.addTask { try await fixture.call(key: "k") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.contains { $0.status == 201 })
    #expect(Set(answers.map(\.summary)).isSubset(of: ["201", "409 in_progress"]))
    #expect(Set(answers.filter { $0.status == 201 }.map(\.content)).count == 1)
    #expect(try await fixture.journal().rings == [customerNumber: 1])
    #expect(try await fixture.call(key: "k").summary == "201")
    _ = try await fixture.end()
  }

  @Test func `of many at once for one number one is made, and the others name it`() async throws {
    let fixture = try CallingFixture(
      yaml: "rules: [{ name: two, kind: quota, key: caller, limit: 2, per: month }]")
    try await fixture.fault(["endpoint": "callback", "delay_ms": 300, "times": 100])
    let answers = try await withThrowingTaskGroup(of: CallingFixture.Answer.self) { group in
      for _ in 0..<20 { group.addTask { try await fixture.call() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let made = answers.filter { $0.status == 201 }
    #expect(made.count == 1)
    #expect(Set(answers.map(\.summary)) == ["201", "409 duplicate"])
    #expect(answers.allSatisfy { $0.id == made[0].id })
    #expect(try await fixture.journal().rings == [customerNumber: 1])
    // The other requests have taken nothing.
    #expect(try await fixture.call("+14155550111").summary == "201")
    _ = try await fixture.end()
  }

  @Test func `callers and users do not see each other's callbacks, keys and answers`() async throws {
    let key = "0123456789abcdef0123456789abcdef"
    let fixture = try CallingFixture(
      yaml: """
        callers:
          - { id: partner, api_key: { sha256: "\(Self.sha256(key))" } }
        """)
    let partner: Fields = ["X-API-Key": key]
    let mine = try await fixture.call(key: "k")
    let theirs = try await fixture.call(key: "k", fields: partner)
    #expect(mine.status == 201 && theirs.status == 201 && mine.id != theirs.id)
    #expect(try await fixture.look("/callbacks/\(mine.id ?? "")", partner).summary == "404 not_found")
    #expect(try await fixture.look("/callbacks/\(theirs.id ?? "")", partner).status == 200)
    #expect(try await fixture.look("/callbacks/\(mine.id ?? "")", [:]).status == 401)
    _ = try await fixture.end()
  }

  private static func sha256(_ text: String) -> String { Hex.encode(SHA256.digest(Array(text.utf8))) }

  @Test func `the app's numbers, schema and additions hold, and its rules see the number`() async throws {
    let fixture = try CallingFixture(
      yaml: """
        apps:
          shop:
            talkdesk_phone_numbers: ["+18500000007", "+18500000008"]
            context_schema: { fields: { issue: { max_length: 4, required: true } }, add: { channel: ios } }
        rules:
          - { name: europe, kind: numbers, allow: ["+351", "+14155550100"] }
        """)
    let made = try await fixture.call(path: "/callbacks?app=shop")
    #expect(made.summary == "201")
    let sent = try #require(try await fixture.journal().callbacks.first)
    #expect(sent["talkdesk_phone_number"]?.string == "+18500000007")
    #expect(sent["context"]?["fields"]?.array?.compactMap { $0["name"]?.string } == ["issue", "channel"])
    let wrong = try await fixture.call(
      path: "/callbacks?app=shop",
      body: #"{"contact_phone_number":"+14155550100","context":{"issue":"too long","channel":"web"}}"#)
    #expect(wrong.names == ["context.issue", "context.channel"])
    #expect(try await fixture.call("+14155550101").summary == "403 number_not_allowed")
    // Premium-rate numbers are refused even if no rule names them.
    #expect(try await fixture.call("+351760123456").summary == "403 number_not_allowed")
    _ = try await fixture.end()
  }

  @Test func `a slow caller costs others nothing, and too many requests are refused early`() async throws {
    let fixture = try CallingFixture(yaml: "callbacks: { timeout: 2s, concurrency: 1 }")
    #expect(try await fixture.call("+14155550100").status == 201)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 700, "times": 100])
    let answers = try await withThrowingTaskGroup(of: CallingFixture.Answer.self) { group in
      for number in 10..<30 { group.addTask { try await fixture.call("+141555501\(number)") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let refused = answers.filter { $0.status == 503 }
    #expect(!refused.isEmpty && refused.allSatisfy { $0.code == "overloaded" })
    #expect(refused.allSatisfy { $0.fields["Retry-After"] != nil && $0.id == nil })
    // Nothing was sent for the requests that were told so.
    let journal = try await fixture.journal()
    let told = answers.filter { $0.status == 201 || $0.status == 504 }
    #expect(Int(journal.arrivals) == told.count + 1)
    #expect(told.count + refused.count == 20)
    _ = try await fixture.end()
  }

  @Test func `an ending server finishes what was sent and refuses what was not`() async throws {
    let fixture = try CallingFixture(
      yaml: "{ callbacks: { concurrency: 1 }, limits: { drain_timeout: 2s } }")
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 60_000, "times": 2])
    async let first = fixture.call("+14155550110")
    try await eventually { try await fixture.journal().arrivals == 1 }
    async let second = fixture.call("+14155550111")
    try await eventually { fixture.service.load == (1, 1) }
    await fixture.service.drain()
    #expect(try await first.summary == "504 outcome_unknown")
    #expect(try await second.summary == "503 overloaded")
    _ = try await fixture.end()
  }

  @Test func `availability says what is open, until when, and what is left`() async throws {
    let fixture = try CallingFixture(
      yaml: """
        rules:
          - { name: hours, kind: hours, timezone: UTC, weekly: { mon-sun: "00:00-23:59" }, on: callback }
          - { name: nights, kind: hours, timezone: UTC, weekly: { mon: "03:00-03:01" }, on: access }
          - { name: daily, kind: quota, key: caller, limit: 5, per: month, on: callback }
          - { name: numbers, kind: rate, key: phone, limit: 1, per: 1h }
        """, environment: ["CALLGATE_ADMIN_TOKEN": "canary-operator-token"])
    #expect(try await fixture.look("/availability", [:]).status == 401)
    #expect(try await fixture.look("/availability?app=none").summary == "404 unknown_app")
    #expect(try await fixture.call().status == 201)
    let before = SystemClock().unixTime.seconds
    let answer = try await fixture.look("/availability")
    let after = SystemClock().unixTime.seconds
    #expect(answer.status == 200)
    let document = try #require(answer.json?.object)
    #expect(document.members.map(\.name) == ["open", "next_change", "windows", "remaining"])
    #expect(document["remaining"]?["daily"] == 4)
    let change = try #require(document["next_change"]?.string)
    let isOpen = try #require(document["open"])
    #expect(change.hasSuffix(isOpen == true ? "T23:59:00Z" : "T00:00:00Z"))
    let windows = try #require(document["windows"]?.array)
    #expect((7...8).contains(windows.count))
    #expect(windows.last?["end"]?.string?.hasSuffix("T23:59:00Z") == true)
    let control = try #require(answer.fields["Cache-Control"])
    #expect(control.hasPrefix("private, max-age="))
    let age = try #require(Int(control.dropFirst("private, max-age=".count)))
    // A client may cache the response until a second before the change, whenever between the two times it was
    // made.
    let changes = try #require(Instant(rfc3339: change)).seconds
    #expect((max(0, changes - after - 1)...max(0, changes - before - 1)).contains(Int64(age)))
    #expect(answer.fields["RateLimit-Policy"]?.hasPrefix(#""daily";q=5"#) == true)
    _ = try await fixture.service.ask(
      .post, "/admin/stop", ["Authorization": "Bearer canary-operator-token"],
      content: Array(#"{"scope":"all","action":"callback"}"#.utf8))
    let stopped = try await fixture.look("/availability")
    #expect(stopped.json?["open"] == false && stopped.json?["next_change"] == .null)
    #expect(stopped.json?["windows"]?.array?.isEmpty == true && stopped.fields["Cache-Control"] == "no-store")
    _ = try await fixture.end()
    let always = try CallingFixture()
    let unchanging = try await always.look("/availability")
    #expect(unchanging.json?["open"] == true && unchanging.json?["next_change"] == .null)
    #expect(unchanging.fields["Cache-Control"] == "private, max-age=300")
    _ = try await always.end()
  }

  @Test func `bad bodies get their documented status and code from the endpoint, too`() async throws {
    let fixture = try CallingFixture(environment: ["TD_PHONE_NUMBER": accountNumber])
    for bad in BadBody.all {
      let answer = try await fixture.service.ask(
        .post, "/callbacks", CallingFixture.credentials.adding("Content-Type", "application/json"),
        content: bad.content)
      let document = try JSONValue(parsing: answer.content)
      // The largest of these bodies exceed the server's limit.
      let code = bad.content.count > 65_536 ? "content_too_large" : bad.code
      #expect(document["code"]?.string == code, "\(bad.name)")
    }
    #expect(try await fixture.journal().arrivals == 0)
    _ = try await fixture.end()
  }
}
