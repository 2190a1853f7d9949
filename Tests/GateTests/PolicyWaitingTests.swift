// Tests that `Retry-After` is long enough when several rules refuse, over policies of hours, rates and quotas.

import TestSupport
import Testing

@testable import Gate

/// Random policies with hours, rates and quotas, evaluated by a clock that the test moves.
struct PolicyWaitingTests {
  private let noon = Instant(seconds: 1_795_003_200)  // 2026-11-18T12:00:00Z, a Wednesday.

  private func hours(_ windows: String...) throws -> Rule.Kind {
    .hours(try Schedule(zone: .utc, weekly: (0..<7).map { _ in try windows.map { try OpeningWindow($0) } }))
  }

  private func rate(_ limit: Int64, per seconds: Int64, burst: Int64? = nil) throws -> Rule.Kind {
    .rate(
      try RateLimit(limit: limit, per: seconds * second, burst: burst), key: .caller, onStoreFailure: .deny)
  }

  private func quota(_ limit: Int64, _ period: Quota.Period) throws -> Rule.Kind {
    .quota(try Quota(limit: limit, period: period), key: .caller, onStoreFailure: .deny)
  }

  private func policy(_ kinds: Rule.Kind...) throws -> Policy {
    try Policy(rules: kinds.enumerated().map { try Rule(name: "r\($0)", kind: $1) })
  }

  /// The wait that the second of two requests at the same time is told. Checks that the wait is long enough.
  private func wait(_ policy: Policy, from now: Instant) throws -> Int64? {
    let states = TestStates()
    #expect(policy.settle(.request(at: now), states).grant != nil)
    let wait = try #require(policy.settle(.request(at: now), states).decision.denial?.retryAfter)
    let then = Instant(seconds: now.seconds + wait, nanoseconds: now.nanoseconds)
    #expect(policy.settle(.request(at: then), states).grant != nil, "after \(wait)")
    return wait
  }

  @Test func `Retry-After speaks for the rules after the one that refused, too`() throws {
    // Until midnight, not until the rate has earned one more.
    #expect(try wait(policy(rate(1, per: 5), quota(1, .day)), from: noon) == 43_200)
    #expect(try wait(policy(quota(1, .day), rate(1, per: 2 * 86_400)), from: noon) == 2 * 86_400)
    // Until it opens again, at nine the next day.
    #expect(try wait(policy(rate(1, per: 600), hours("09:00-12:03")), from: noon) == 21 * 3600)
    // Until it opens again after midnight has begun a new day.
    #expect(try wait(policy(hours("12:00-12:30"), quota(1, .day), rate(1, per: 60)), from: noon) == 86_400)
  }

  @Test func `a closed rule's Retry-After speaks for the allowances, its next opening for the hours`() throws
  {
    let policy = try policy(hours("13:00-14:00"), quota(1, .month))
    let states = TestStates()
    states.states[AllowanceKey(rule: "r1", party: .caller("ios-app"))] = AllowanceState(
      mark: 20_758, count: 1)
    let denial = policy.decide(.request(at: noon), states: states).denial
    #expect(denial?.code == .closed && denial?.nextOpen == Instant(seconds: noon.seconds + 3600))
    // From 18 November, 12:00, to 1 December, 13:00.
    let wait: Int64 = 13 * 86_400 + 3600
    #expect(denial?.retryAfter == wait)
  }

  @Test func `who was slower to take waits for all rules as well`() throws {
    let policy = try policy(rate(1, per: 5), quota(1, .day))
    let states = TestStates()
    let slow = policy.decide(.request(at: noon), states: states)
    #expect(policy.settle(.request(at: noon), states).grant != nil)
    let (decision, _) = slow.settled(states.take(slow.charges, at: noon), at: noon).parts()
    #expect(decision.denial?.code == .rateLimited && decision.denial?.retryAfter == 43_200)
    #expect(decision.denial?.status?.count.reset == 5)
  }

  @Test func `rules in audit mode, of others and of stores that fail are not waited for`() throws {
    let states = TestStates()
    let policy = try Policy(rules: [
      Rule(name: "fast", kind: rate(1, per: 5)), Rule(name: "trial", mode: .audit, kind: quota(1, .day)),
      Rule(name: "others", callers: ["tv"], kind: hours("00:00-01:00")),
      Rule(name: "off", mode: .off, kind: hours("00:00-01:00")),
    ])
    #expect(policy.settle(.request(at: noon), states).grant != nil)
    #expect(policy.settle(.request(at: noon), states).decision.denial?.retryAfter == 5)
  }

  @Test func `opening hours that exclude each other are found at once, at every request`() throws {
    let policy = try Policy(rules: [
      Rule(name: "mornings", kind: hours("08:00-12:00")),
      Rule(name: "afternoons", kind: hours("12:00-18:00")),
      Rule(name: "nights", callers: ["guard"], kind: hours("20:00-24:00")),
      Rule(name: "late", callers: ["bar"], mode: .audit, kind: hours("20:00-24:00")),
    ])
    #expect(policy.exclusiveHours(at: noon) == [["mornings", "afternoons"]])
    let apart = try Policy(rules: [
      Rule(name: "mornings", callers: ["a", "b"], kind: hours("08:00-12:00")),
      Rule(name: "afternoons", callers: ["b", "c"], kind: hours("12:00-18:00")),
      Rule(name: "both", kind: hours("11:00-13:00")),
    ])
    // A request of caller b matches all three rules.
    #expect(apart.exclusiveHours(at: noon) == [["mornings", "afternoons", "both"]])
    #expect(try agreeing().exclusiveHours(at: noon) == [])
    // Refused requests reuse the result: ten thousand of them cause no other search.
    let denial = policy.decide(.request(at: noon), states: FetchedStates()).denial
    #expect(denial?.nextOpen == nil && denial?.retryAfter == nil)
    #expect(policy.openings.searches == 1)
    for seconds in Int64(0)..<10_000 {
      let later = Instant(seconds: noon.seconds + seconds)
      #expect(policy.decide(.request(at: later), states: FetchedStates()).denial?.code == .closed)
    }
    #expect(policy.openings.searches == 1)
    // The result "never" expires: the next day there is another search.
    _ = policy.decide(.request(at: Instant(seconds: noon.seconds + 86_401)), states: FetchedStates())
    #expect(policy.openings.searches == 2)
  }

  private func agreeing() throws -> Policy {
    try Policy(rules: [
      Rule(name: "days", kind: hours("08:00-18:00")), Rule(name: "lunch", kind: hours("12:00-13:00")),
    ])
  }

  @Test func `where hours never come again, the rate still says when it has earned one more`() throws {
    let date = try #require(CivilDate(year: 2026, month: 11, day: 18))
    let once = try Schedule(
      zone: .utc, weekly: Array(repeating: [], count: 7), open: [(date, [try OpeningWindow("12:00-12:01")])])
    let policy = try policy(rate(1, per: 600), .hours(once))
    let states = TestStates()
    #expect(policy.settle(.request(at: noon), states).grant != nil)
    #expect(policy.settle(.request(at: noon), states).decision.denial?.retryAfter == 600)
    let closed = policy.settle(.request(at: Instant(seconds: noon.seconds + 600)), states).decision.denial
    #expect(closed?.code == .closed && closed?.retryAfter == nil)
  }

  // MARK: At random

  /// Made only once, because building a zone's table takes a while.
  private static let zones = ["UTC", "Europe/Lisbon", "America/New_York", "America/Santiago"].compactMap {
    name -> Zone? in
    do { return try Zone(named: name) } catch { return nil }
  }

  private func randomKind(_ random: inout SeededGenerator) throws -> Rule.Kind {
    let scope: AllowanceScope = Bool.random(using: &random) ? .caller : .global
    let zone = Self.zones.randomElement(using: &random) ?? .utc
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      let from = Int.random(in: 0..<96, using: &random) * 900
      let length = Int.random(in: 1...90, using: &random) * 900
      let window = try OpeningWindow(start: from, end: (from + length) % 86_400)
      let days = Set((0..<7).filter { _ in Int.random(in: 0..<4, using: &random) > 0 }).union([2])
      return .hours(try Schedule(zone: zone, weekly: (0..<7).map { days.contains($0) ? [window] : [] }))
    case 1, 2:
      let spans: [Int64] = [1, 7, 60, 600, 3600, 86_400, 7 * 86_400]
      let limit = Int64.random(in: 1...12, using: &random)
      let burst = Bool.random(using: &random) ? limit : Int64.random(in: 1...12, using: &random)
      return .rate(
        try RateLimit(limit: limit, per: (spans.randomElement(using: &random) ?? 1) * second, burst: burst),
        key: scope, onStoreFailure: .deny)
    default:
      let period = Quota.Period.allCases.randomElement(using: &random) ?? .day
      return .quota(
        try Quota(limit: Int64.random(in: 1...8, using: &random), period: period, zone: zone), key: scope,
        onStoreFailure: .deny)
    }
  }

  private func randomPolicy(_ random: inout SeededGenerator) throws -> Policy {
    var rules: [Rule] = []
    for place in 0..<Int.random(in: 1...5, using: &random) {
      let kind = try randomKind(&random)
      let mode: Rule.Mode = Int.random(in: 0..<6, using: &random) == 0 ? .audit : .enforce
      // The names stay the same after a change, so used allowances stay used, even if the kind differs.
      rules.append(try Rule(name: "r\(place)", mode: mode, kind: kind))
    }
    return try Policy(rules: rules.shuffled(using: &random))
  }

  @Test(arguments: 0..<rounds(60, of: 300))
  func `a retry after Retry-After succeeds, through changes of rules and clocks set back`(_ seed: Int)
    throws
  {
    var random = SeededGenerator(UInt64(seed))
    var policy = try randomPolicy(&random)
    let states = TestStates()
    // Around the two nights on which clocks change, and the end of a year.
    let starts: [Int64] = [1_761_400_000, 1_774_700_000, 1_798_700_000, 1_795_003_200]
    var time =
      (starts.randomElement(using: &random) ?? 0) * second + Int64.random(in: 0..<second, using: &random)
    func now(_ ahead: Int64 = 0) -> Instant {
      Instant(seconds: time / second + ahead, nanoseconds: Int32(time % second))
    }
    func facts(_ caller: String, _ ahead: Int64 = 0) -> Facts { .request(caller: caller, at: now(ahead)) }
    for _ in 0..<60 {
      let spans: [Int64] = [0, 0, 1, 900, 30_000, 4 * 86_400]
      time += Int64.random(in: 0...((spans.randomElement(using: &random) ?? 0) * second), using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: policy = try randomPolicy(&random)
      case 1: time -= Int64.random(in: 0...(2 * 86_400), using: &random) * second
      default: break
      }
      let caller = Bool.random(using: &random) ? "ios-app" : "tv"
      guard let denial = policy.settle(facts(caller), states).decision.denial else { continue }
      // The wait is nil if hours exclude each other.
      guard let wait = denial.retryAfter, denial.nextOpen != nil || denial.code != .closed else { continue }
      // The wait is not a second too long.
      if wait > 1 { #expect(policy.decide(facts(caller, wait - 1), states: states).denial != nil) }
      let after = policy.settle(facts(caller, wait), states)
      // If opening hours exclude each other, no wait is enough, and the first denial was another rule's.
      guard after.decision.denial?.nextOpen != nil || after.decision.denial?.code != .closed else { continue }
      #expect(after.grant != nil, "\(denial) and then \(String(describing: after.decision.denial))")
      time += wait * second
    }
  }
}
