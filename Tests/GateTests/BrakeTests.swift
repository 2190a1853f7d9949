// Tests of the built-in limits on callbacks.

import Documents
import Gate
import Testing

struct BrakeTests {
  private let noon = Instant(seconds: 1_795_003_200)  // 2026-11-18T12:00:00Z, a Wednesday.

  /// A request for a callback to the number with these last digits.
  private func callback(_ last: Int = 0, at now: Instant, caller: String = "ios-app") throws -> Facts {
    let digits = String(last)
    var facts = Facts.request(.callback, caller: caller, at: now)
    facts.phone = try E164("+1415555" + String(repeating: "0", count: 4 - digits.count) + digits)
    return facts
  }

  private func later(_ seconds: Int64) -> Instant { Instant(seconds: noon.seconds + seconds) }

  private func policy(_ rules: DocumentNode = [], _ brakes: Brakes = Brakes()) throws -> Policy {
    try #require(Policy.reading(rules, brakes: brakes).policy)
  }

  @Test func `the figures without any configuration`() {
    let brakes = Brakes()
    #expect(Brake.allCases.map(\.ruleName) == ["brake-number", "brake-burst", "brake-hour", "brake-lookups"])
    #expect(Brake.allCases.map { brakes[$0] } == [6, 500, 1000, 500])
    #expect(Brake.allCases.map { Brakes.off[$0] } == [0, 0, 0, 0])
  }

  @Test func `the seventh callback to a number waits for midnight in UTC, for every caller`() throws {
    let policy = Policy(brakes: Brakes())
    let states = TestStates()
    for caller in 0..<6 {
      #expect(
        policy.settle(try callback(at: noon, caller: "app-\(caller)"), states).grant != nil, "\(caller)")
    }
    let denial = try #require(policy.settle(try callback(at: noon), states).decision.denial)
    #expect(denial.code == .quotaExhausted && denial.rule == "brake-number")
    #expect(denial.retryAfter == 43_200)
    #expect(denial.status?.isBrake == true)
    #expect(policy.settle(try callback(1, at: noon), states).grant != nil, "another number")
    #expect(policy.settle(try callback(at: later(12 * 3600 - 1)), states).grant == nil)
    #expect(policy.settle(try callback(at: later(12 * 3600)), states).grant != nil)
  }

  @Test func `after five hundred at once one more passes every 0.6 seconds`() throws {
    let policy = Policy(brakes: Brakes())
    let states = TestStates()
    for number in 0..<500 { #expect(policy.settle(try callback(number, at: noon), states).grant != nil) }
    let denial = try #require(policy.settle(try callback(500, at: noon), states).decision.denial)
    #expect(denial.code == .rateLimited && denial.rule == "brake-burst" && denial.retryAfter == 1)
    #expect(policy.settle(try callback(500, at: later(1)), states).grant != nil, "after Retry-After")
    #expect(policy.settle(try callback(501, at: later(1)), states).grant == nil)
  }

  @Test func `a higher figure does not open a brake that is used up, it earns faster`() throws {
    let states = TestStates()
    let small = Policy(brakes: Brakes(numberPerDay: 0, perFiveMinutes: 0, perHour: 1000))
    for number in 0..<1000 { #expect(small.settle(try callback(number, at: noon), states).grant != nil) }
    let large = Policy(brakes: Brakes(numberPerDay: 0, perFiveMinutes: 0, perHour: 5000))
    #expect(large.settle(try callback(0, at: noon), states).grant == nil)
    #expect(large.settle(try callback(0, at: later(1)), states).grant != nil)
    #expect(Policy(brakes: .off).settle(try callback(0, at: noon), states).grant != nil)
  }

  @Test func `after a quiet period up to twice the figure passes, however many numbers are asked for`() throws
  {
    // The number allowed at once, plus the number earned meanwhile.
    let policy = Policy(brakes: Brakes(perFiveMinutes: 50, perHour: 100))
    let states = TestStates()
    var granted = 0
    var rules: Set<String> = []
    for number in 0..<2000 {
      let (decision, grant) = policy.settle(
        try callback(number, at: later(Int64(number) * 3600 / 2000)), states)
      if grant != nil { granted += 1 }
      if let rule = decision.denial?.rule { rules.insert(rule) }
    }
    #expect(granted > 190 && granted <= 200, "\(granted)")
    #expect(rules == ["brake-burst", "brake-hour"])
  }

  @Test func `tokens have no brakes and their verdicts do not name them`() throws {
    let open = Policy(brakes: Brakes(numberPerDay: 1, perFiveMinutes: 1, perHour: 1))
    #expect(
      open.unconditionalAccess(callerID: "ios-app", subject: nil, appID: nil, at: noon)?.receipts.isEmpty
        == true)
    #expect(open.charges(for: .request(at: noon)).isEmpty)
    let policy = try policy([["name": "a", "kind": "rate", "key": "caller", "limit": "9", "per": "1m"]])
    let decision = policy.decide(.request(at: noon), states: TestStates())
    #expect(decision.verdicts.map(\.rule) == ["a"] && decision.charges.count == 1)
    #expect(policy.skipped.map(\.rule) == ["a"])
  }

  @Test func `brakes are asked after the configured rules and the one about numbers`() throws {
    let states = TestStates()
    let policy = try policy(
      [["name": "mine", "kind": "quota", "key": "global", "limit": "2", "per": "day"]],
      Brakes(numberPerDay: 1))
    let (first, grant) = policy.settle(try callback(at: noon), states)
    #expect(
      first.verdicts.map { "\($0.rule) \($0.verdict.word)" } == [
        "mine allow", "default-numbers allow", "brake-number allow", "brake-burst allow", "brake-hour allow",
      ])
    #expect(grant?.receipts.map(\.brake) == [nil, .number, .burst, .hour])
    #expect(grant?.statuses.map(\.rule) == ["mine"], "no fields tell of brakes")

    let second = policy.decide(try callback(at: noon), states: states)
    #expect(second.denial?.rule == "brake-number")
    #expect(
      second.verdicts.map { "\($0.rule) \($0.verdict.word)" } == [
        "mine allow", "default-numbers allow", "brake-number deny", "brake-burst skipped",
        "brake-hour skipped",
      ])

    // A number that is never called gets no time to retry.
    var premium = try callback(at: noon)
    premium.phone = try E164("+19002123456")
    states.states[AllowanceKey(rule: "brake-burst", party: .global)] = AllowanceState(mark: .max, count: 0)
    let third = policy.decide(premium, states: states)
    #expect(third.denial?.code == .numberNotAllowed)
    #expect(third.verdicts.map(\.verdict.word) == ["allow", "deny", "skipped", "skipped", "skipped"])

    #expect(policy.settle(try callback(1, at: noon), states).decision.denial?.rule == "brake-burst")
    states.states[AllowanceKey(rule: "brake-burst", party: .global)] = nil
    #expect(policy.settle(try callback(1, at: noon), states).grant != nil)
    let fourth = policy.settle(try callback(2, at: noon), states).decision
    #expect(fourth.denial?.rule == "mine")
    #expect(fourth.verdicts.map(\.verdict.word) == ["deny", "skipped", "skipped", "skipped", "skipped"])
  }

  @Test func `a rule that opens the numbers leaves the brakes where they are`() throws {
    let policy = try policy(
      [["name": "any", "kind": "numbers", "default_deny": "false"]], Brakes(numberPerDay: 1, perHour: 0))
    let states = TestStates()
    var premium = try callback(at: noon)
    premium.phone = try E164("+19002123456")
    let (decision, grant) = policy.settle(premium, states)
    #expect(grant != nil && decision.verdicts.map(\.rule) == ["any", "brake-number", "brake-burst"])
    let (refused, _) = policy.settle(premium, states)
    #expect(refused.denial?.rule == "brake-number")
    #expect(refused.verdicts.map(\.verdict.word) == ["allow", "deny", "skipped"])
  }

  @Test func `who is slower gets the refusal of the brake that ran out`() throws {
    let policy = try policy(
      [["name": "mine", "kind": "quota", "key": "global", "limit": "9", "per": "day"]],
      Brakes(perFiveMinutes: 1))
    let states = TestStates()
    let decision = policy.decide(try callback(1, at: noon), states: states)
    #expect(policy.settle(try callback(2, at: noon), states).grant != nil)
    let (settled, grant) = decision.settled(states.take(decision.charges, at: noon), at: noon).parts()
    #expect(grant == nil && settled.denial?.rule == "brake-burst" && settled.denial?.retryAfter == 300)
    #expect(
      settled.verdicts.map { "\($0.rule) \($0.verdict.word)" } == [
        "mine allow", "default-numbers allow", "brake-number allow", "brake-burst deny", "brake-hour skipped",
      ])
  }

  @Test func `what is given back can be taken again`() throws {
    let policy = Policy(brakes: Brakes(numberPerDay: 1, perFiveMinutes: 1, perHour: 1))
    let states = TestStates()
    let grant = try #require(policy.settle(try callback(at: noon), states).grant)
    #expect(policy.settle(try callback(at: noon), states).grant == nil)
    states.giveBack(grant.receipts, at: noon)
    #expect(policy.settle(try callback(at: noon), states).grant != nil)
  }

  @Test func `a refusal by another rule tells to wait for the brakes, too`() throws {
    let policy = try policy(
      [["name": "slow", "kind": "rate", "key": "global", "limit": "1", "per": "10s"]],
      Brakes(numberPerDay: 1))
    let states = TestStates()
    #expect(policy.settle(try callback(at: noon), states).grant != nil)
    let denial = policy.decide(try callback(at: noon), states: states).denial
    #expect(denial?.rule == "slow" && denial?.retryAfter == 12 * 3600)
    // This decision was made before the longer wait was known.
    var early = policy.decide(try callback(at: noon), states: states.only("slow"))
    #expect(early.waits && early.denial?.retryAfter == 10)
    early.wait(try callback(at: noon), states)
    #expect(early.denial?.rule == "slow" && early.denial?.retryAfter == 12 * 3600)
    var granted = policy.decide(try callback(1, at: later(10)), states: states)
    #expect(!granted.waits)
    granted.wait(try callback(1, at: later(10)), states)
    #expect(granted.denial == nil)
  }

  @Test func `what has to be fetched before taking leaves the brakes out`() throws {
    let policy = try policy([["name": "mine", "kind": "quota", "key": "global", "limit": "9", "per": "day"]])
    let facts = try callback(at: noon)
    #expect(policy.charges(for: facts, taking: true).map(\.key.rule) == ["mine"])
    #expect(policy.charges(for: facts).map(\.brake) == [nil, .number, .burst, .hour])
    #expect(policy.sharedBrakes.map(\.brake) == [.burst, .hour])
    #expect(Policy.open.sharedBrakes.isEmpty && Policy.open.charges(for: facts).isEmpty)
    let statuses = policy.statuses(for: facts, states: TestStates())
    #expect(statuses.map(\.isBrake) == [false, true, true, true])
    #expect(statuses.map(\.count.remaining) == [9, 6, 500, 1000])
  }

  @Test func `reasons tell how much of a brake is used, and log lines say which one refused`() throws {
    let policy = try policy(
      [["name": "mine", "kind": "field", "field": "X", "equals": "a", "on": "access"]],
      Brakes(numberPerDay: 1))
    let states = TestStates()
    #expect(policy.settle(try callback(at: noon), states).grant != nil)
    let facts = try callback(at: noon)
    let decision = policy.decide(facts, states: states)
    #expect(
      decision.reasons(of: facts, states: states).map { "\($0.skip?.rawValue ?? "-") \($0.text)" } == [
        "not_applicable it applies only to access", "- +*********00 is in no refused range",
        "- 1 of 1 used by +*********00 this day (UTC); the next day begins Thursday 2026-11-19 00:00 "
          + "(2026-11-19T00:00:00Z)",
        "not_reached brake-number refused the request", "not_reached brake-number refused the request",
      ])
    let log = policy.reason(for: try #require(decision.denial), of: facts)
    #expect(log?.hasPrefix("1 of 1 used by +*********00") == true)
    var premium = try callback(at: noon)
    premium.phone = try E164("+19002123456")
    let refused = policy.decide(premium, states: states)
    #expect(refused.reasons(of: premium, states: states)[1].text.contains("+1900"))
    #expect(policy.reason(for: try #require(refused.denial), of: premium)?.contains("+1900") == true)
  }

  @Test(arguments: ["brake-number", "brake-burst", "brake-mine", "brake-"])
  func `no configured rule has a brake's name`(name: String) throws {
    let problems = Policy.reading([
      ["name": DocumentNode(.text(name)), "kind": "quota", "key": "caller", "limit": "5", "per": "day"]
    ]).problems
    #expect(problems.map(\.subject) == ["rule \"\(name)\".name"] || problems.count == 1, "\(problems)")
    #expect(problems[0].message.contains("built-in safety limits"), "\(problems)")
  }

  @Test func `tables of tests count brakes and name them`() throws {
    let policy = Policy(brakes: Brakes(perHour: 0))
    let tests: DocumentNode = [
      "tests": [
        [
          "name": "the seventh", "action": "callback", "phone": "+14155550100",
          "counts": ["brake-number": "6"],
          "expect": "deny", "code": "quota_exhausted", "rule": "brake-number",
        ],
        [
          "name": "the sixth", "action": "callback", "phone": "+14155550100", "counts": ["brake-number": "5"],
          "expect": "allow",
        ],
        [
          "name": "too many", "action": "callback", "phone": "+14155550100", "counts": ["brake-burst": "500"],
          "expect": "deny", "code": "rate_limited", "rule": "brake-burst",
        ],
        ["name": "tokens", "counts": ["brake-burst": "500"], "expect": "allow"],
      ]
    ]
    guard case .tests(let table) = policy.readingTests(tests, context: RuleTestContext(now: noon)) else {
      Issue.record("a table that is none")
      return
    }
    #expect(table.map { $0.failure(under: policy) } == [nil, nil, nil, nil])
    let off: DocumentNode = ["tests": [["name": "off", "counts": ["brake-hour": "1"], "expect": "allow"]]]
    guard case .problems(let problems) = policy.readingTests(off, context: RuleTestContext(now: noon)) else {
      Issue.record("a brake that is off counts nothing")
      return
    }
    #expect(problems.map(\.message) == ["there is no rule \"brake-hour\""])
  }
}

extension TestStates {
  /// The states of one rule.
  fileprivate func only(_ rule: String) -> TestStates {
    let some = TestStates()
    some.states = states.filter { $0.key.rule == rule }
    return some
  }
}
