// Tests of rules for a callback at a time: when it is booked, and again when it is due.

import Gate
import Testing

@testable import Documents

struct AppointmentRulesTests {
  private let noon = Instant(seconds: 1_795_003_200)  // 2026-11-18T12:00:00Z, a Wednesday.

  private func hours(_ windows: String) throws -> Rule.Kind {
    .hours(try Schedule(zone: .utc, weekly: week(Array(0..<7), windows)))
  }

  private func quota(_ limit: Int64) throws -> Rule.Kind {
    .quota(try Quota(limit: limit, period: .day), key: .caller, onStoreFailure: .deny)
  }

  private func facts(at time: String, number: String = "+14155550123") throws -> Facts {
    var facts = Facts.request(.callback, at: noon)
    facts.phone = try E164(number)
    facts.at = try at(time)
    return facts
  }

  // MARK: When it is booked

  @Test func `opening hours are judged at the appointment's time`() throws {
    let policy = try Policy(rules: [Rule(name: "hours", kind: hours("13:00-14:00"))])
    #expect(try policy.decide(facts(at: "2026-11-20T13:59:59Z"), states: FetchedStates()).denial == nil)
    let late = try policy.decide(facts(at: "2026-11-20T14:00:00Z"), states: FetchedStates()).denial
    // Waiting does not help, so the refusal gives no time to retry.
    #expect(
      late == (try Denial(code: .closed, rule: "hours", nextOpen: at("2026-11-21T13:00:00Z"))))
    let reasons = try policy.decide(facts(at: "2026-11-20T14:00:00Z"), states: FetchedStates())
      .reasons(of: facts(at: "2026-11-20T14:00:00Z"), states: FetchedStates())
    #expect(reasons.first?.text.contains("Friday 2026-11-20 14:00") == true, "\(reasons)")
  }

  @Test func `an allowance is judged now, and its wait does not reckon with opening hours`() throws {
    let policy = try Policy(rules: [
      Rule(name: "daily", kind: quota(1)), Rule(name: "hours", kind: hours("13:00-14:00")),
    ])
    let states = TestStates()
    let facts = try facts(at: "2026-11-20T13:00:00Z")
    #expect(policy.settle(facts, states).grant?.receipts.count == 1)
    let refused = policy.settle(facts, states).decision.denial
    // From midnight on another appointment can be booked, although it is closed then.
    #expect(refused?.code == .quotaExhausted && refused?.retryAfter == 12 * 3600)
  }

  // MARK: When it is due

  private func decided(
    _ policy: Policy, _ facts: Facts, _ states: TestStates = TestStates(),
    remote: RemoteAnswer = .allow
  ) -> Decision {
    var evaluation = policy.evaluation(of: facts, asking: .whenDue)
    while true {
      switch evaluation.next(states) {
      case .decided(let decision): return decision
      case .asks: evaluation.answer(remote)
      case .proves, .screens: preconditionFailure("no rule about numbers")
      }
    }
  }

  private func words(_ decision: Decision) -> [String] {
    decision.verdicts.map { "\($0.rule) \($0.verdict.word)" }
  }

  /// One rule of every kind, all of which but opening hours, numbers and the remote policy refuse.
  private func policy() throws -> Policy {
    try Policy(
      rules: [
        Rule(name: "addresses", kind: .addresses(AddressesRule(allow: ["192.0.2.0/24"]))),
        Rule(name: "claims", kind: .claims(ClaimsRule(require: [("tier", ["gold"])]))),
        Rule(name: "field", kind: .field(FieldRule(field: "X-App", requirement: .equals("a")))),
        Rule(
          name: "rate", kind: .rate(RateLimit(limit: 1, per: second), key: .caller, onStoreFailure: .deny)),
        Rule(name: "quota", kind: quota(1)),
        Rule(name: "hours", kind: hours("13:00-14:00")),
        Rule(name: "numbers", kind: .numbers(NumbersRule(allow: ["+1"]))),
        Rule(name: "remote", kind: .remote(RemoteRule(url: "https://p.example"))),
      ], brakes: Brakes(numberPerDay: 1))
  }

  @Test func `hours, numbers and remote policies are asked again, and nothing else`() throws {
    let policy = try policy()
    let states = TestStates()
    states.isDown = true
    let decision = try decided(policy, facts(at: "2026-11-18T13:00:00Z"), states)
    #expect(
      words(decision) == [
        "addresses skipped", "claims skipped", "field skipped", "rate skipped", "quota skipped",
        "hours allow",
        "numbers allow", "remote allow", "default-numbers allow", "brake-number skipped",
        "brake-burst skipped",
        "brake-hour skipped",
      ])
    let grant = decision.settled(.taken([]), at: noon).parts().grant
    #expect(try grant?.phone == E164("+14155550123") && grant?.receipts.isEmpty == true)
  }

  @Test func `each of them refuses`() throws {
    let policy = try policy()
    #expect(try decided(policy, facts(at: "2026-11-18T12:59:59Z")).denial?.rule == "hours")
    #expect(
      try decided(policy, facts(at: "2026-11-18T13:00:00Z", number: "+351210000000")).denial?.rule
        == "numbers")
    #expect(
      try decided(policy, facts(at: "2026-11-18T13:00:00Z", number: "+19002123456")).denial?.code
        == .numberNotAllowed)
    let remote = try decided(policy, facts(at: "2026-11-18T13:00:00Z"), remote: .deny(reason: "risk"))
    #expect(remote.denial?.rule == "remote" && remote.denial?.reason == "risk")
    #expect(
      try decided(.open, facts(at: "2026-11-18T13:00:00Z", number: "+19002123456")).denial?.rule
        == "default-numbers")
  }
}
