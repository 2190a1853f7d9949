// Tests that a client who waits as long as `Retry-After` says is then admitted, over random policies.

import Gate
import TestSupport
import Testing

/// The wait in a refusal, over random policies whose verdicts can change with time.
struct WaitingTests {
  private let zones = ["UTC", "America/New_York", "Europe/Lisbon", "Australia/Lord_Howe", "Asia/Kathmandu"]

  private func rule(_ number: Int, _ random: inout SeededGenerator) throws -> Rule {
    let zone = try Zone(named: zones.randomElement(using: &random) ?? "UTC")
    let kind: Rule.Kind
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let days = (0..<7).filter { _ in Bool.random(using: &random) }
      let windows = [["09:00-18:00"], ["08:00-12:00", "13:00-17:30"], ["22:00-02:30"], ["00:00-24:00"]]
        .randomElement(using: &random)
      let chosen = try (windows ?? []).map { try OpeningWindow($0) }
      let open = days.isEmpty ? [0] : days
      kind = .hours(
        try Schedule(
          zone: zone, weekly: (0..<7).map { open.contains($0) ? chosen : [] },
          closed: Bool.random(using: &random) ? [try #require(CivilDate("2026-12-25"))] : []))
    case 1:
      let limit = Int64.random(in: 1...6, using: &random)
      let per: Int64 = [1, 7, 60, 3600, 86_400].randomElement(using: &random) ?? 1
      kind = .rate(
        try RateLimit(limit: limit, per: per * second, burst: Int64.random(in: 1...4, using: &random)),
        key: .caller, onStoreFailure: .deny)
    default:
      let period = Quota.Period.allCases.randomElement(using: &random) ?? .day
      kind = .quota(
        try Quota(limit: Int64.random(in: 1...8, using: &random), period: period, zone: zone), key: .global,
        onStoreFailure: .deny)
    }
    return try Rule(
      name: "r\(number)", mode: Int.random(in: 0..<8, using: &random) == 0 ? .audit : .enforce, kind: kind)
  }

  @Test func `a retry after Retry-After succeeds, however many rules made the client wait`() throws {
    var random = SeededGenerator(26)
    var refusals = 0
    var longer = 0
    for _ in 0..<400 {
      let count = Int.random(in: 1...4, using: &random)
      let policy = try Policy(rules: try (0..<count).map { try rule($0, &random) })
      let states = TestStates()
      var now = try at("2026-12-23T00:00:00Z")
      now.seconds += Int64.random(in: 0..<(10 * 86_400), using: &random)
      now.nanoseconds = Int32.random(in: 0..<1_000_000_000, using: &random)
      for _ in 0..<25 {
        let facts = Facts(
          action: .access, callerID: "a", address: nil, phone: nil, instant: now)
        let decision = policy.decide(facts, states: states)
        guard let denial = decision.denial else {
          guard case .taken = states.take(decision.charges, at: now) else {
            Issue.record("what was there a moment ago is gone")
            continue
          }
          now.seconds += [0, 0, 1, 5, 600].randomElement(using: &random) ?? 0
          continue
        }
        // Schedules that exclude each other never open, so there is no wait.
        guard let wait = denial.retryAfter else { break }
        refusals += 1
        #expect(wait >= 1)
        let alone = denial.status?.count.reset ?? denial.nextOpen.map { $0.seconds - now.seconds } ?? 0
        if wait > max(1, alone) { longer += 1 }
        now.seconds += wait
        let later = Facts(action: .access, callerID: "a", address: nil, phone: nil, instant: now)
        let answer = policy.decide(later, states: states)
        #expect(
          answer.denial == nil, "\(denial) was told \(wait) s, and then \(String(describing: answer.denial))")
      }
    }
    // Both kinds of waits occurred.
    #expect(refusals > 2000 && longer > 100, "\(refusals) \(longer)")
  }

  @Test func `a wait for hours that never come is the allowance's own`() throws {
    let never = try Schedule(
      zone: .utc, weekly: week([0], "09:00-10:00"), open: [])
    let other = try Schedule(zone: .utc, weekly: week([1], "09:00-10:00"), open: [])
    let rate = try RateLimit(limit: 1, per: 60 * second)
    let policy = try Policy(rules: [
      Rule(name: "rate", kind: .rate(rate, key: .caller, onStoreFailure: .deny)),
      Rule(name: "monday", kind: .hours(never)), Rule(name: "tuesday", kind: .hours(other)),
    ])
    let now = try at("2026-12-23T00:00:00Z")
    let facts = Facts(action: .access, callerID: "a", address: nil, phone: nil, instant: now)
    let states = try CountedStates(policy: policy, counts: ["rate": 1], at: now)
    let denial = try #require(policy.decide(facts, states: states).denial)
    #expect(denial.code == .rateLimited && denial.retryAfter == 60)
  }
}
