// Tests of what needs attention: each problem appears in the status when it begins and disappears when it
// ends.

import Foundation
import HTTP
import JSON
import Pages
import TestSupport
import Testing

@testable import Configuration
@testable import Gateway
@testable import Records
@testable import RoomSupport

@Suite(.timeLimit(.minutes(2))) struct AttentionTests {
  private static let environment = ["CALLGATE_ADMIN_TOKEN": "canary-operators-token"]

  private func fixture(_ yaml: String? = nil) throws -> CallingFixture {
    try CallingFixture(yaml: yaml, environment: Self.environment)
  }

  private func status(_ fixture: CallingFixture) async throws -> JSONValue {
    try #require(try await fixture.look("/admin/status", CallingFixture.operators).json)
  }

  /// The status of callbacks and the codes in the list, as one line.
  private func summary(_ fixture: CallingFixture) async throws -> String {
    let status = try await status(fixture)
    let codes = status["attention"]?.array?.compactMap { $0["code"]?.string } ?? []
    return ([status["callbacks"]?.string ?? "-"] + codes).joined(separator: " ")
  }

  private func ready(_ fixture: CallingFixture) async throws -> JSONValue {
    try #require(try await fixture.look("/readyz").json)
  }

  @Test func `a server without a problem has nothing to say`() async throws {
    let fixture = try fixture()
    #expect(try await summary(fixture) == "open")
    #expect(try await ready(fixture)["checks"]?["upstreams"] == nil)
    _ = try await fixture.end()
  }

  @Test func `a failing Callback API is there from the first failure until a success`() async throws {
    let fixture = try fixture()
    try await fixture.fault(["endpoint": "callback", "status": 503, "times": 2])
    for number in ["+14155550101", "+14155550102"] {
      #expect(try await fixture.call(number).code == "upstream_unavailable")
    }
    let entry = try #require(try await status(fixture)["attention"]?.array?.first)
    #expect(entry["code"] == "callback_api")
    #expect(entry["count"] == 2)
    #expect(entry["text"]?.string == "Talkdesk's Callback API is unavailable (503).")
    #expect(entry["runbook"]?.string == "/docs/runbook#callgatetalkdeskunavailable")
    #expect(try await summary(fixture) == "failing callback_api")
    let ready = try await ready(fixture)
    #expect(ready["status"] == "warn")
    #expect(ready["checks"]?["upstreams"]?["attention"] == ["callback_api"])
    #expect(try await fixture.call("+14155550103").status == 201)
    #expect(try await summary(fixture) == "open")
    #expect(try await self.ready(fixture)["status"] == "pass")
    _ = try await fixture.end()
  }

  @Test func `the operator reads why there was no answer, not a name of the code`() async throws {
    let fixture = try fixture()
    try await fixture.fault(["endpoint": "callback", "drop": "before"])
    #expect(try await fixture.call("+14155550101").code == "outcome_unknown")
    let entry = try #require(
      try await status(fixture)["attention"]?.array?.first { $0["code"] == "callback_api" })
    #expect(entry["text"]?.string?.contains("closed the connection") == true)
    #expect(entry["text"]?.string?.contains("connectionLost") == false)
    _ = try await fixture.end()
  }

  @Test func `callbacks fail by the scope that they use, and a scope no longer configured disappears`()
    async throws
  {
    let apps = "apps: { shop: {}, other: { scope: \"nope:scope\" } }\n"
    let fixture = try fixture(apps)
    #expect(try await fixture.look("/access?app=other").code == "upstream_refused")
    #expect(try await summary(fixture) == "open credential", "callbacks were not asked for yet")
    let body = #"{"contact_phone_number":"+14155550101","context":{"issue":"help"}}"#
    #expect(try await fixture.call(path: "/calls/callback?app=shop", body: body).status == 201)
    #expect(try await summary(fixture) == "open credential")
    #expect(try await ready(fixture)["status"] == "warn")
    #expect(try await series(fixture, "nope:scope") > 0)

    fixture.service.rewrite(apps.replacing("nope:scope", with: "visual-sessions:execute"))
    #expect(await fixture.service.reload())
    #expect(try await summary(fixture) == "open")
    let ready = try await ready(fixture)
    #expect(ready["status"] == "pass" && ready["checks"]?["key"]?["status"] == "pass")
    #expect(
      ready["checks"]?["talkdesk_id"]?["scopes"]?.array?.compactMap { $0["scope"]?.string }
        == ["callback:write", "visual-sessions:execute"])
    #expect(try await series(fixture, "nope:scope") == 0)

    // A scope that is configured again is known again.
    fixture.service.rewrite(apps)
    #expect(await fixture.service.reload())
    #expect(try await summary(fixture) == "open credential")
    _ = try await fixture.end()
  }

  @Test func `callbacks fail while their own scope is refused, whatever other scopes get`() async throws {
    let fixture = try fixture("apps: { shop: {}, other: { scope: \"visual-sessions:execute\" } }\n")
    try await fixture.fault(["endpoint": "token", "status": 401])
    let body = #"{"contact_phone_number":"+14155550101","context":{"issue":"help"}}"#
    #expect(
      try await fixture.call(path: "/calls/callback?app=shop", body: body).code == "upstream_refused")
    #expect(try await fixture.look("/access?app=other").status == 200)
    #expect(try await summary(fixture) == "failing credential")
    _ = try await fixture.end()
  }

  /// Number of metric series that name a scope.
  private func series(_ fixture: CallingFixture, _ scope: String) async throws -> Int {
    let page = try await fixture.look("/metrics", CallingFixture.operators).content
    return String(decoding: page, as: UTF8.self).split(separator: "\n")
      .count { $0.contains("scope=\"\(scope)\"") }
  }

  @Test func `a reload hides no limit that still refuses, and ends one that it raised`() async throws {
    let rules = """
      callbacks: { dedupe_window: 0s, brakes: { number_per_day: 0, per_5m: 1 } }
      rules:
        - { name: hourly, kind: quota, on: [access], key: caller, limit: 1, per: day }
        - { name: quick, kind: rate, on: [access], key: global, limit: 1, per: 1h }
      """
    let fixture = try fixture(rules)
    for number in ["+14155550101", "+14155550102"] { _ = try await fixture.call(number) }
    for _ in 0..<2 { _ = try await fixture.look("/access") }
    #expect(try await summary(fixture) == "held brake quota")
    for text in [
      rules, rules + "\nlog: { level: debug }\n",
      rules.replacing("per_5m: 1", with: "per_5m: 1, per_hour: 9"),
    ] {
      fixture.service.rewrite(text)
      #expect(await fixture.service.reload())
      #expect(try await summary(fixture) == "held brake quota")
    }
    // With so high a limit, the next callback is earned within a third of a millisecond.
    let wide = rules.replacing("per_5m: 1", with: "per_5m: 1000000, per_hour: 1000000")
    fixture.service.rewrite(wide)
    #expect(await fixture.service.reload())
    #expect(try await summary(fixture) == "open quota")
    #expect(try await fixture.call("+14155550103").status == 201)

    // A raised rate earns its next request sooner, but not yet.
    let raised = wide.replacing("key: caller, limit: 1", with: "key: caller, limit: 9")
    fixture.service.rewrite(raised)
    #expect(await fixture.service.reload())
    #expect(try await summary(fixture) == "open")
    #expect(try await fixture.look("/access").status == 429)
    #expect(try await summary(fixture) == "open rate")
    fixture.service.rewrite(raised.replacing("key: global, limit: 1", with: "key: global, limit: 2"))
    #expect(await fixture.service.reload())
    #expect(try await summary(fixture) == "open rate")
    _ = try await fixture.end()
  }

  @Test func `a pause after a 429 says until when`() async throws {
    let fixture = try fixture()
    try await fixture.fault(["endpoint": "callback", "status": 429, "retry_after": 60, "times": 1])
    #expect(try await fixture.call("+14155550101").status == 429)
    let entry = try #require(try await status(fixture)["attention"]?.array?.first)
    #expect(entry["code"] == "callback_api" && entry["until"]?.string != nil)
    _ = try await fixture.end()
  }

  @Test func `Talkdesk ID that fails or refuses the credential is told apart`() async throws {
    for (fault, code) in [(503, "talkdesk_id"), (401, "credential")] {
      let fixture = try fixture()
      try await fixture.fault([
        "endpoint": "token", "status": .number(JSONNumber(Int64(fault))), "times": 10,
      ])
      _ = try await fixture.look("/access")
      #expect(try await summary(fixture) == "failing \(code)")
      let entry = try #require(try await status(fixture)["attention"]?.array?.first)
      #expect(entry["count"] == 1)
      #expect(entry["until"]?.string != nil)
      _ = try await fixture.end()
    }
  }

  @Test func `a stop is there until it is resumed, and counts what it refuses`() async throws {
    let fixture = try fixture()
    let stop = #"{"scope":"all","action":"callback","reason":"drill","for":"30m"}"#
    _ = try await fixture.send(.post, "/admin/stop", stop, fields: CallingFixture.operators)
    #expect(try await fixture.call().code == "stopped")
    let entry = try #require(try await status(fixture)["attention"]?.array?.first)
    #expect(entry["text"] == "Callbacks of everyone are stopped by an operator: “drill”.")
    #expect(entry["count"] == 1 && entry["until"]?.string != nil)
    #expect(try await summary(fixture) == "held stop")
    _ = try await fixture.send(
      .post, "/admin/resume", #"{"scope":"all","action":"callback"}"#, fields: CallingFixture.operators)
    #expect(try await summary(fixture) == "open")
    _ = try await fixture.end()
  }

  @Test func `a brake and a quota of a caller are problems, those of a number and a subject are not`()
    async throws
  {
    let rules = """
      callbacks: { dedupe_window: 0s, brakes: { number_per_day: 2, per_5m: 3 } }
      rules:
        - { name: hourly, kind: quota, on: [access], key: caller, limit: 1, per: day }
        - { name: each, kind: quota, on: [access], key: address, limit: 2, per: day }
      """
    let fixture = try fixture(rules)
    for _ in 0..<3 { _ = try await fixture.call("+14155550101") }
    #expect(try await summary(fixture) == "open")
    _ = try await fixture.call("+14155550102")
    #expect(try await fixture.call("+14155550103").code == "rate_limited")
    #expect(try await summary(fixture) == "held brake")
    _ = try await fixture.look("/access")
    #expect(try await fixture.look("/access").status == 429)
    #expect(try await summary(fixture) == "held brake quota")
    let entries = try await status(fixture)["attention"]?.array ?? []
    #expect(
      entries.first?["text"]
        == "Callbacks are refused: brake-burst, a limit on all callbacks (3 in 5 minutes), is used up.")
    #expect(entries.last?["text"] == "Requests are refused: the quota hourly is used up.")
    _ = try await fixture.end()
  }

  @Test func `a rejected configuration names the place and the fix`() async throws {
    let fixture = try fixture("log: { level: info }\n")
    fixture.service.rewrite("log: { level: loud }\n")
    _ = await fixture.service.reload()
    let entry = try #require(try await status(fixture)["attention"]?.array?.first)
    #expect(entry["code"] == "configuration")
    #expect(entry["text"]?.string?.contains("log.level") == true)
    fixture.service.rewrite("log: { level: debug }\n")
    _ = await fixture.service.reload()
    #expect(try await summary(fixture) == "open")
    _ = try await fixture.end()
  }

  @Test func `callbacks are closed outside opening hours`() async throws {
    // Open only on the weekday three days from now.
    let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    let today = Int(Date().timeIntervalSince1970) / 86_400 + 4
    let fixture = try fixture(
      "rules: [{ name: later, kind: hours, on: [callback], timezone: UTC, weekly: { \(days[(today + 3) % 7]): \"09:00-10:00\" } }]\n"
    )
    #expect(try await summary(fixture) == "closed")
    _ = try await fixture.end()
  }

  @Test func `a decision is found by its request id, with its verdicts`() async throws {
    let fixture = try fixture()
    let answer = try await fixture.look("/access")
    let id = try #require(answer.fields["X-Request-ID"])
    let found = try await fixture.look("/admin/decisions?request_id=\(id)", CallingFixture.operators)
    #expect(found.json?["decisions"]?.array?.map { $0["request_id"]?.string } == [id])
    #expect(
      try await fixture.look("/admin/decisions?request_id=none", CallingFixture.operators).summary
        == "404 not_found")
    for query in ["", "?request_id=", "?request_id"] {
      #expect(
        try await fixture.look("/admin/decisions\(query)", CallingFixture.operators).summary
          == "422 invalid_request")
    }
    _ = try await fixture.end()
  }
}

/// That each code is documented, and that its link leads there.
@Suite struct AttentionDocumentsTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
  }

  private func sections() throws -> [String: String] {
    let text = try Self.text("docs/operate/runbook.md")
    var sections: [String: String] = [:]
    for part in text.split(separator: "\n### ").dropFirst() {
      let lines = part.split(separator: "\n", maxSplits: 1)
      let name = lines[0].lowercased().replacing(" ", with: "-").filter {
        $0.isLetter || $0.isNumber || $0 == "-"
      }
      sections[name] = lines.count > 1 ? String(lines[1]) : ""
    }
    return sections
  }

  @Test func `each code has an entry and a section that begins with a command`() throws {
    let sections = try sections()
    let table = try #require(
      try Self.text("docs/operate/runbook.md").split(separator: "## What needs attention\n").last?
        .split(separator: "\n## ").first)
    let rows = table.split(separator: "\n").filter { $0.hasPrefix("- `") }
    let documented = rows.flatMap { row in
      row.dropFirst(2).prefix { $0 != ":" }.split(separator: ",").map { $0.filter { $0 != "`" && $0 != " " } }
    }
    #expect(documented == Attention.Code.allCases.map(\.rawValue))
    for code in Attention.Code.allCases {
      let section = try #require(sections[code.section], "\(code) has no section \(code.section)")
      #expect(section.drop { $0 == "\n" }.hasPrefix("```\n"), "\(code.section) begins with no command")
      #expect(rows.contains { $0.contains("`\(code.rawValue)`") && $0.contains("(#\(code.section))") })
    }
  }

  @Test func `each link of an alert and of the server leads to a section of the page`() throws {
    let alerts = try Self.text("deploy/prometheus/alerts.yml")
    let links = alerts.matches(
      of: #/runbook_url: "\{\{ \$externalLabels\.callgate_runbooks \}\}/docs/runbook#([a-z-]+)"/#
    )
    .map { String($0.output.1) }
    #expect(links.count == alerts.matches(of: #/- alert: /#).count && !links.isEmpty)
    for section in links + Attention.Code.allCases.map(\.section) {
      #expect(PageFile.runbookContent.text.contains(#" id="\#(section)">"#), "\(section)")
    }
  }
}
