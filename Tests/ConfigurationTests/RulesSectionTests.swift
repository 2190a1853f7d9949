// Tests of how the `rules` section becomes a policy, and where its mistakes are reported.

import Gate
import TestSupport
import Testing

@testable import Configuration
@testable import RoomSupport

@Suite struct RulesSectionTests {
  @Test func `rules become the policy, in their order`() throws {
    let policy = try Fixture.policy(
      """
        - { name: numbers, kind: numbers, allow: ["+1", "+351"], on: [callback] }
        - name: opening-hours
          kind: hours
          timezone: Europe/Lisbon
          weekly: { mon-fri: "09:00-18:00" }
          mode: audit
      """)
    #expect(policy.rules.map(\.name) == ["numbers", "opening-hours"])
    #expect(policy.rules.map(\.mode) == [.enforce, .audit])
    #expect(policy.rules[0].actions == [.callback])
  }

  @Test func `without the section there are no rules`() throws {
    #expect(try Fixture.load().configuration.policy.rules.isEmpty)
    #expect(try Fixture.load("rules: []").configuration.policy.rules.isEmpty)
  }

  @Test func `every mistake is reported at its place, together with those of other sections`() {
    let problems = Fixture.problems(
      """
      log: { level: loud }
      callers:
        - { id: ios-app, api_key: { sha256: \(String(repeating: "0", count: 64)) } }
      rules:
        - { name: hours, kind: hours, timezone: Europe/Lisabon, weekly: { mon: "09:00-18:00" } }
        - { name: per-caller, kind: rate, key: callers, limit: 3O, per: 1m }
        - { name: numbers, kind: number }
        - { name: scoped, kind: addresses, allow: [192.0.2.0/24], callers: [ios-ap], apps: [nope], mod: audit }
        - { name: hours, kind: field, field: X, equals: a }
      """)
    #expect(
      problems.map { String($0.prefix { $0 != "—" }) } == [
        "config.yaml:1:15: log.level: \"loud\" is unknown here ",
        "config.yaml:5:43: rule \"hours\": timezone: there is no time zone \"Europe/Lisabon\" ",
        "config.yaml:6:42: rule \"per-caller\": key: \"callers\" is unknown here ",
        "config.yaml:6:58: rule \"per-caller\": limit: \"3O\" is not a whole number ",
        "config.yaml:7:28: rule \"numbers\": kind: \"number\" is unknown here ",
        "config.yaml:8:71: rule \"scoped\": callers[0]: \"ios-ap\" is unknown here ",
        "config.yaml:8:87: rule \"scoped\": apps[0]: \"nope\" is unknown here ",
        "config.yaml:8:94: rule \"scoped\": mod: unknown key ",
      ])
    #expect(problems.contains { $0.contains("did you mean \"caller\"?") })
    #expect(problems.contains { $0.contains("did you mean \"ios-app\"?") })
    #expect(problems.contains { $0.contains("did you mean mode?") })
  }

  @Test func `rules for anonymous requests stay, and claims that no caller has get a notice`() throws {
    let rest = """
      callers:
        - { id: web, api_key: { sha256: \(String(repeating: "0", count: 64)) } }
        - { id: users, jwt: { issuer: a, audience: b, hs256_secret_file: /not/opened } }
      apps:
        shop: { callers: [web, users], installations: { authorize: [user] } }
        open: {}
      rules:
      """
    func notices(_ rule: String) throws -> [String] {
      try Fixture.load("\(rest)\n  - { name: a, \(rule) }", environment: [:], for: .explain).notices.map(
        \.message)
    }
    #expect(try notices("kind: field, field: X, equals: a, callers: [anonymous]") == [])
    let claims = "kind: claims, require: { tier: gold }"
    #expect(try notices("\(claims)") == [])
    #expect(try notices("\(claims), callers: [anonymous]") == [])
    #expect(
      try notices("\(claims), callers: [web]") == [
        "rule \"a\" requires claims, and web never has any: the rule refuses every request that it applies to "
          + "— name callers with jwt"
      ])
    #expect(try notices("\(claims), callers: [web], mode: off") == [])
    #expect(
      try notices("\(claims), callers: [users]") == [
        "rule \"a\" does not apply to the installations of its users (app shop), which are the caller installation "
          + "— add \"enrol\" to \"on\" to require these claims of the user who enrolls a phone"
      ])
    #expect(try notices("\(claims), callers: [users], on: [access, enrol]") == [])
    #expect(try notices("\(claims), callers: [users], apps: [open]") == [])
  }

  @Test func `an app's empty list of numbers, which reads like none, gets a notice`() throws {
    let loaded = try Fixture.load(
      "apps: { shop: { talkdesk_phone_numbers: [] } }", environment: [:], for: .explain)
    #expect(
      loaded.notices.map(\.description) == [
        "config.yaml:1:41: apps.shop.talkdesk_phone_numbers is empty, so the app uses the numbers of callbacks "
          + "— list its numbers, or remove the line"
      ])
  }

  @Test func `a rule may name callers and apps that have mistakes of their own, and anonymous`() {
    let problems = Fixture.problems(
      """
      callers:
        - { id: ios-app, api_key: { sha256: nonsense } }
      apps:
        shop: { scope: "two  spaces" }
      rules:
        - { name: a, kind: field, field: X, equals: a, callers: [ios-app, anonymous, default], apps: [shop] }
      """)
    #expect(problems.count == 2)
    #expect(problems.allSatisfy { !$0.contains("rules") })
  }

  @Test func `YAML's own types do not exist in rules`() throws {
    let policy = try Fixture.policy(
      """
        - { name: on, kind: field, field: X-Flag, in: [on, off, yes, 1.0, 2026-12-25], on: access }
      """)
    for value in ["on", "off", "yes", "1.0", "2026-12-25"] {
      var facts = Facts(
        action: .access, callerID: nil, address: nil, phone: nil, instant: Instant(seconds: 0))
      facts.fields = [RequestField(name: "X-Flag", value: value)]
      #expect(policy.decide(facts, states: FetchedStates()).denial == nil)
    }
  }
}
