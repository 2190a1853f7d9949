// Tests of the rules on a running server: quotas, opening hours, addresses, headers and callers.

import Gate
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway

/// Rules applied to real requests over loopback.
@Suite(.timeLimit(.minutes(2))) struct LiveRulesTests {
  private let caller = ["DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass"]
  private var credentials: Fields {
    ["Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8))]
  }

  private func audits(_ lines: [JSONValue]) -> [JSONValue] { lines.filter { $0["log"]?.string == "audit" } }

  private func verdicts(_ audit: JSONValue) -> [String] {
    (audit["verdicts"]?.array ?? []).map { "\($0["rule"]?.string ?? "?") \($0["verdict"]?.string ?? "?")" }
  }

  @Test func `a used up quota refuses, also what is in the cache, and tells when to come again`() async throws
  {
    let service = try RunningService(
      environment: caller,
      yaml: """
        rules:
          - { name: old-app, kind: field, field: X-App-Version, at_least: "2.0", mode: audit }
          - { name: daily, kind: quota, key: caller, limit: 2, per: day }
          - { name: after, kind: field, field: X-Nothing, equals: a, on: callback }
        """)
    let first = try await service.ask(.get, "/access", credentials)
    #expect(first.status == 200)
    #expect(first.fields["RateLimit-Policy"] == #""daily";q=2;w=86400"#)
    #expect(first.fields["RateLimit"]?.hasPrefix(#""daily";r=1;t="#) == true)
    let probe = try await service.ask(.get, "/access?probe", credentials)
    #expect(probe.status == 204)
    #expect(probe.fields["RateLimit"]?.hasPrefix(#""daily";r=1;t="#) == true)
    let second = try await service.ask(
      .get, "/access", credentials.adding("Accept", "application/json").adding("X-App-Version", "2.1"))
    #expect(second.status == 200)
    #expect(second.fields["RateLimit"]?.hasPrefix(#""daily";r=0;t="#) == true)
    let third = try await service.ask(.get, "/access", credentials)
    #expect(third.status == 429)
    let problem = try JSONValue(parsing: third.content)
    #expect(problem["code"]?.string == "quota_exhausted")
    #expect(problem["rule"]?.string == "daily")
    let wait = try #require(problem["retry_after"]?.int)
    #expect((1...86_400).contains(wait))
    #expect(third.fields["Retry-After"] == String(wait))
    #expect(third.fields["RateLimit-Policy"] == #""daily";q=2;w=86400"#)
    #expect(third.fields["RateLimit"] == #""daily";r=0;t=\#(wait)"#)
    #expect(try await service.ask(.get, "/access?probe", credentials).status == 429)

    let audits = audits(try await service.end())
    #expect(audits.map { $0["decision"]?.string } == ["allow", "allow", "allow", "deny", "deny"])
    #expect(audits.map { $0["code"]?.string } == [nil, nil, nil, "quota_exhausted", "quota_exhausted"])
    #expect(audits.map { $0["rule"]?.string } == [nil, nil, nil, "daily", "daily"])
    #expect(verdicts(audits[0]) == ["old-app would_deny", "daily allow", "after skipped"])
    #expect(verdicts(audits[2]) == ["old-app allow", "daily allow", "after skipped"])
    #expect(verdicts(audits[3]) == ["old-app would_deny", "daily deny", "after skipped"])
    #expect(audits[3]["cache"]?.string == "none")
  }

  @Test func `outside of opening hours every caller gets 403 with the next opening`() async throws {
    let service = try RunningService(
      environment: caller,
      yaml: """
        rules:
          - { name: never-today, kind: hours, timezone: UTC, weekly: { mon-sun: "00:00-24:00" }, closed: [\(Self.today)] }
        """)
    for path in ["/access", "/access?probe"] {
      let answer = try await service.ask(.get, path, credentials)
      #expect(answer.status == 403)
      let problem = try JSONValue(parsing: answer.content)
      #expect(problem["code"]?.string == "closed")
      #expect(problem["next_open"]?.string?.hasSuffix("T00:00:00Z") == true)
      #expect(answer.fields["Retry-After"] == problem["retry_after"]?.int.map { String($0) })
      #expect(answer.fields["RateLimit"] == nil)
    }
    let stock = try await service.ask(.post, "/token/example-app-ios", credentials)
    #expect(stock.status == 403)
    #expect(!String(decoding: stock.content, as: UTF8.self).contains("auth_token"))
    #expect(try await service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 0)
    _ = try await service.end()
  }

  /// Today and tomorrow in UTC, so that midnight may pass meanwhile.
  private static var today: String {
    let now = SystemClock().unixTime.seconds
    return [now, now + 86_400].map { CivilDate(dayNumber: Int($0 / 86_400)).description }.joined(
      separator: ", ")
  }

  @Test func `what no token came of is given back`() async throws {
    let service = try RunningService(
      environment: caller,
      yaml: "rules: [{ name: daily, kind: quota, key: caller, limit: 1, per: month }]")
    try await service.tellTalkdesk(
      .post, "/_sandbox/faults", ["endpoint": "token", "status": 429, "retry_after": 1, "times": 1])
    let failed = try await service.ask(.get, "/access", credentials)
    #expect(failed.status == 503)
    #expect(failed.fields["RateLimit"] == nil)
    // The cool-down may still be active. After it, the one request of the month is still available.
    var answer = failed
    try await eventually {
      answer = try await service.ask(.get, "/access", credentials)
      return answer.status != 503
    }
    #expect(answer.status == 200)
    #expect(try await service.ask(.get, "/access", credentials).status == 429)
    _ = try await service.end()
  }

  @Test func `rules look at address, fields and caller`() async throws {
    let service = try RunningService(
      environment: caller,
      yaml: """
        rules:
          - { name: office, kind: addresses, deny: ["127.0.0.2/32"], allow: ["127.0.0.1/32"] }
          - { name: recent, kind: field, field: X-App-Version, at_least: "2.3.0", callers: [default] }
          - { name: others, kind: addresses, deny: ["127.0.0.1/32"], callers: [anonymous] }
        """)
    func status(_ version: String?) async throws -> String {
      let fields = version.map { credentials.adding("x-app-version", $0) } ?? credentials
      let answer = try await service.ask(.get, "/access", fields)
      guard answer.status != 200 else { return "200" }
      let problem = try JSONValue(parsing: answer.content)
      return "\(answer.status) \(problem["code"]?.string ?? "") \(problem["rule"]?.string ?? "")"
    }
    #expect(try await status("2.3.0") == "200")
    #expect(try await status("10.0") == "200")
    #expect(try await status("2.2.9") == "403 denied recent")
    #expect(try await status(nil) == "403 denied recent")
    _ = try await service.end()
  }
}

extension Fields {
  func adding(_ name: String, _ value: String) -> Fields {
    var fields = self
    fields.append(name, value)
    return fields
  }
}
