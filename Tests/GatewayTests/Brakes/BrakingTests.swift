// Tests of the built-in limits on a running server.

import Gate
import HTTP
import JSON
import Testing

@testable import Gateway
@testable import RoomSupport

private let otherNumber = "+14155550101"

/// The built-in limits on callbacks, over loopback.
@Suite(.serialized, .timeLimit(.minutes(5))) struct BrakingTests {
  private static let often = "dedupe_window: 0s"

  @Test func `the seventh callback to a number is refused without any configuration`() async throws {
    let fixture = try CallingFixture(yaml: "callbacks: { \(Self.often) }")
    for _ in 0..<6 { #expect(try await fixture.call().summary == "201") }
    let refused = try await fixture.call()
    #expect(refused.summary == "429 quota_exhausted")
    #expect(refused.json?["rule"]?.string == "brake-number")
    let wait = try #require(refused.json?["retry_after"]?.int)
    #expect(wait > 0 && wait <= 86_400)
    #expect(refused.fields["Retry-After"] == "\(wait)")
    #expect(refused.fields["RateLimit"] == nil && refused.fields["RateLimit-Policy"] == nil)
    #expect(try await fixture.call(path: "/callbacks?validate").summary == "429 quota_exhausted")
    #expect(try await fixture.call(otherNumber).summary == "201")
    #expect(try await fixture.journal().rings == [customerNumber: 6, otherNumber: 1])
    let exhausted = "a number has reached its daily limit of callbacks: the server refuses more"
    let line = try await fixture.service.line(exhausted)
    #expect(line["brake"]?.string == "brake-number" && line["contact"]?.string == "+*********00")
    let lines = try await fixture.service.end()
    #expect(lines.count { $0["message"]?.string == exhausted } == 1)
    let audits = lines.filter { $0["log"]?.string == "audit" }
    #expect(
      audits[6]["verdicts"]?.array?.map { "\($0["rule"]?.string ?? "") \($0["verdict"]?.string ?? "")" } == [
        "default-numbers allow", "brake-number deny", "brake-burst skipped", "brake-hour skipped",
      ])
  }

  @Test func `all callers share a brake, whose use is shown, and tokens have none`() async throws {
    let fixture = try CallingFixture(
      yaml: """
        allow_anonymous: true
        callbacks: { brakes: { per_5m: 2 } }
        rules: [{ name: mine, kind: quota, key: caller, limit: 9, per: day, on: callback }]
        """, environment: ["CALLGATE_ADMIN_TOKEN": "canary-operators-token"])
    func ratios() async throws -> [String] {
      let page = try await fixture.look("/metrics", CallingFixture.operators)
      return String(decoding: page.content, as: UTF8.self).split(separator: "\n").map(String.init)
        .filter { $0.hasPrefix("callgate_brake_used_ratio{") }
    }
    #expect(
      try await ratios() == [
        #"callgate_brake_used_ratio{brake="burst"} 0"#, #"callgate_brake_used_ratio{brake="hour"} 0"#,
      ])
    let first = try await fixture.call()
    #expect(first.summary == "201" && first.fields["RateLimit"]?.hasPrefix("\"mine\";r=8;t=") == true)
    #expect(try await ratios().first == #"callgate_brake_used_ratio{brake="burst"} 0.5"#)
    #expect(try await fixture.call(otherNumber, fields: [:]).summary == "201")
    #expect(try await ratios().first == #"callgate_brake_used_ratio{brake="burst"} 1"#)
    let refused = try await fixture.call("+14155550199", fields: [:])
    #expect(refused.summary == "429 rate_limited" && refused.json?["rule"]?.string == "brake-burst")
    // A slow machine uses up some seconds of the wait.
    #expect((100...150).contains(refused.fields["Retry-After"].flatMap { Int($0) } ?? 0))
    #expect(try await fixture.look("/access").status == 200)
    let remaining = try await fixture.look("/availability")
    #expect(
      remaining.json?["remaining"]?.object?.members.map(\.name) == ["mine", "brake-burst", "brake-hour"])
    #expect(remaining.json?["remaining"]?["brake-burst"]?.int == 0)
    #expect(remaining.fields["RateLimit-Policy"] == "\"mine\";q=9;w=86400")
    let page = try await fixture.look("/metrics", CallingFixture.operators)
    #expect(
      String(decoding: page.content, as: UTF8.self).contains(
        #"callgate_decisions_total{action="callback",decision="deny",rule="brake-burst",code="rate_limited"} 1"#
      ))
    let explained = try await fixture.service.ask(
      .post, "/admin/explain", CallingFixture.operators.adding("Content-Type", "application/json"),
      content: Array(#"{"action":"callback","caller":"default","phone":"+14155550199"}"#.utf8))
    let explanation = try JSONValue(parsing: explained.content)
    #expect(
      explanation["decision"]?.string == "deny" && explanation["rule"]?.string == "brake-burst",
      "\(explanation)")
    let lines = try await fixture.service.end()
    #expect(
      lines.filter { $0["brake"] != nil }.map { "\($0["message"]?.string ?? "")" } == [
        "half of a safety limit has been used",
        "a safety limit has been reached: the server refuses further callbacks",
      ])
  }

  @Test func `what Talkdesk did not take is given back`() async throws {
    let fixture = try CallingFixture(
      yaml: "callbacks: { \(Self.often), brakes: { number_per_day: 1, per_5m: 1, per_hour: 1 } }",
      environment: ["CALLGATE_ADMIN_TOKEN": "canary-operators-token"])
    try await fixture.fault(["endpoint": "callback", "status": 403, "times": 1])
    #expect(try await fixture.call().summary == "502 upstream_refused")
    let page = try await fixture.look("/metrics", CallingFixture.operators)
    #expect(
      String(decoding: page.content, as: UTF8.self).contains(#"callgate_brake_used_ratio{brake="hour"} 0"#))
    #expect(try await fixture.call().summary == "201")
    #expect(try await fixture.call().summary == "429 quota_exhausted")
    #expect(try await fixture.call(otherNumber).json?["rule"]?.string == "brake-burst")
    _ = try await fixture.end()
  }

  @Test func `what is off is logged at the start and after a reload`() async throws {
    let message = "these safety limits are switched off"
    let fixture = try CallingFixture(yaml: "callbacks: { \(Self.often), brakes: off }")
    #expect(
      try await fixture.service.line(message)["brakes"]?.string == "brake-number, brake-burst, brake-hour")
    for _ in 0..<8 { #expect(try await fixture.call().summary == "201") }
    fixture.service.rewrite("callbacks: { \(Self.often), brakes: { number_per_day: 2, per_hour: 0 } }")
    #expect(await fixture.service.reload())
    for _ in 0..<2 { #expect(try await fixture.call().summary == "201") }
    #expect(try await fixture.call().summary == "429 quota_exhausted")
    let lines = try await fixture.service.end().filter { $0["message"]?.string == message }
    #expect(lines.map { $0["brakes"]?.string } == ["brake-number, brake-burst, brake-hour", "brake-hour"])
    let quiet = try CallingFixture()
    #expect(try await quiet.call().summary == "201")
    #expect(try await quiet.service.end().allSatisfy { $0["message"]?.string != message })
  }
}
