// Tests of rate limits: how many requests pass, and how long a refused client must wait.

import Gate
import TestSupport
import Testing

@testable import Documents

struct RateLimitTests {
  private func rate(_ limit: Int64, per: Int64 = 60 * second, burst: Int64? = nil) throws -> AllowancePlan {
    .rate(try RateLimit(limit: limit, per: per, burst: burst))
  }

  private func after(_ start: Instant, _ nanoseconds: Int64) -> Instant {
    let sum = start.nanosecondsSinceEpoch + nanoseconds
    return Instant(seconds: sum / second, nanoseconds: Int32(sum % second))
  }

  private let start = Instant(seconds: 1_795_000_000, nanoseconds: 999_999_999)

  @Test(arguments: [1, 3, 7, 30, 997] as [Int64])
  func `a whole limit is there at once, not one more, and all of it again a span later`(_ limit: Int64) throws
  {
    let plan = try rate(limit)
    var state: AllowanceState?
    var now = start
    for _ in 0..<50 {
      for taken in 0..<limit {
        #expect(plan.count(of: state, at: now).remaining == limit - taken)
        guard case .taken(let next) = plan.take(from: state, at: now) else {
          Issue.record("\(taken) of \(limit) refused")
          return
        }
        state = next
      }
      #expect(plan.count(of: state, at: now).remaining == 0)
      guard case .refused = plan.take(from: state, at: now) else {
        Issue.record("one more than \(limit) taken")
        return
      }
      // Exact to the nanosecond: there is no drift although 60 seconds cannot be divided by 7.
      let early = plan.count(of: state, at: after(now, 60 * second - 1)).remaining
      #expect(early == limit - 1)
      now = after(now, 60 * second)
    }
  }

  @Test func `what is left is counted in 128 bits where 64 are too few`() throws {
    // A billion in 30 days. The nanoseconds that are left, times the limit, fit into 64 bits, and no longer with their fraction.
    let (limit, per) = (Int64(1_000_000_000), Int64(30 * 86_400) * second)
    let plan = try rate(limit, per: per, burst: 3600)
    let now = start.nanosecondsSinceEpoch
    let capacity = 3600 * (per / limit)
    let left = Int64.max / limit
    #expect(left < capacity && left.multipliedReportingOverflow(by: limit).overflow == false)
    // The time from which all is there again, less the span that is left.
    let state = AllowanceState(mark: now + capacity - left - 1, count: limit - 900_000_000)
    let remaining = Int64((Int128(left) * Int128(limit) + 900_000_000) / Int128(per))
    #expect(plan.count(of: state, at: start).remaining == remaining)
  }

  @Test func `obeying Retry-After succeeds and the rate is never exceeded, over thousands of schedules`()
    throws
  {
    var random = SeededGenerator(1)
    for _ in 0..<rounds(300, of: 3000) {
      let limit = Int64.random(in: 1...50, using: &random)
      let per = Int64.random(in: 1_000_000...(100 * second), using: &random)
      let burst = Int64.random(in: 1...60, using: &random)
      let plan = try rate(limit, per: per, burst: burst)
      var state: AllowanceState?
      var now = after(start, Int64.random(in: 0..<second, using: &random))
      var taken: [Int64] = []
      for _ in 0..<60 {
        now = after(now, Int64.random(in: 0...(2 * per / limit), using: &random))
        switch plan.take(from: state, at: now) {
        case .taken(let next):
          let before = plan.count(of: state, at: now).remaining
          #expect(before >= 1 && plan.count(of: next, at: now).remaining == before - 1)
          state = next
          taken.append(now.nanosecondsSinceEpoch)
        case .refused(let wait):
          let count = plan.count(of: state, at: now)
          #expect(count.remaining == 0 && count.reset == wait && wait >= 1)
          // The wait is not a second too long.
          if wait > 1, case .taken = plan.take(from: state, at: after(now, (wait - 1) * second)) {
            Issue.record("Retry-After is too long")
          }
          now = after(now, wait * second)
          guard case .taken(let next) = plan.take(from: state, at: now) else {
            Issue.record("Retry-After was too short")
            continue
          }
          state = next
          taken.append(now.nanosecondsSinceEpoch)
        }
      }
      // Between any two requests there are at most a burst and the requests earned meanwhile.
      for (place, first) in taken.enumerated() {
        for (more, last) in taken[place...].enumerated() {
          let earned = Int128(last - first) * Int128(limit)
          #expect(Int128(more + 1 - Int(burst)) * Int128(per) <= earned)
        }
      }
    }
  }

  @Test func `what is given back at once leaves no trace`() throws {
    var random = SeededGenerator(2)
    for _ in 0..<2000 {
      let plan = try rate(
        Int64.random(in: 1...9, using: &random), burst: Int64.random(in: 1...9, using: &random))
      var state: AllowanceState?
      var now = start
      for _ in 0..<20 {
        now = after(now, Int64.random(in: 0...(20 * second), using: &random))
        guard case .taken(let taken) = plan.take(from: state, at: now) else { continue }
        let back = plan.giveBack(to: taken, taken: taken, at: now)
        #expect(plan.count(of: back, at: now) == plan.count(of: state, at: now))
        #expect(plan.take(from: back, at: now) == .taken(taken))
        if Bool.random(using: &random) { state = taken }
      }
    }
  }

  /// Takes and gives back at random. Returns how many requests more than the rate allows passed in the worst
  /// span of time.
  private func excess(returning few: Bool, _ random: inout SeededGenerator) throws -> Double {
    let limit = Int64.random(in: 1...5, using: &random)
    let burst = Int64.random(in: 1...8, using: &random)
    let per = 10 * second
    let plan = try rate(limit, per: per, burst: burst)
    var state: AllowanceState?
    var now = start
    var held: [(time: Int64, state: AllowanceState)] = []
    var returned = 0
    for _ in 0..<60 {
      now = after(now, Int64.random(in: 0...(4 * second), using: &random))
      if !held.isEmpty, !few || returned == 0, Int.random(in: 0..<3, using: &random) == 0 {
        let failed = held.remove(at: Int.random(in: 0..<held.count, using: &random))
        state = plan.giveBack(to: state, taken: failed.state, at: now)
        returned += 1
      } else if case .taken(let next) = plan.take(from: state, at: now) {
        state = next
        held.append((now.nanosecondsSinceEpoch, next))
      }
    }
    var worst = 0.0
    for (place, first) in held.enumerated() {
      for (more, last) in held[place...].enumerated() {
        let earned = Double(last.time - first.time) * Double(limit) / Double(per)
        worst = max(worst, Double(more + 1) - Double(burst) - earned)
      }
    }
    return worst
  }

  @Test func `giving one back never lets more through than the rate earns, several less than one more`()
    throws
  {
    var random = SeededGenerator(3)
    var one = 0.0
    var several = 0.0
    for _ in 0..<2000 {
      one = max(one, try excess(returning: true, &random))
      several = max(several, try excess(returning: false, &random))
    }
    #expect(one < 1e-6)
    #expect(several < 1)
  }

  @Test func `a failed request of a full burst makes room for another`() throws {
    let plan = try rate(2, per: 3600 * second)
    guard case .taken(let first) = plan.take(from: nil, at: start),
      case .taken(let second) = plan.take(from: first, at: start)
    else { throw Refusal("a burst of two was refused", "") }
    let later = after(start, 50_000_000)
    let back = plan.giveBack(to: second, taken: first, at: later)
    guard case .taken(let third) = plan.take(from: back, at: later) else {
      Issue.record("there was room for one")
      return
    }
    guard case .refused = plan.take(from: third, at: later) else {
      Issue.record("there was room for one only")
      return
    }
  }

  @Test func `what is told to wait is true after a change of rules, and after the clock was put back`() throws
  {
    var random = SeededGenerator(4)
    for _ in 0..<2000 {
      func some() throws -> RateLimit {
        let spans: [Int64] = [1, 60, 600, 86_400]
        return try RateLimit(
          limit: Int64.random(in: 1...60, using: &random),
          per: (spans.randomElement(using: &random) ?? 1) * second,
          burst: Int64.random(in: 1...60, using: &random))
      }
      let before = AllowancePlan.rate(try some())
      var state: AllowanceState?
      for _ in 0..<Int.random(in: 1...60, using: &random) {
        if case .taken(let next) = before.take(from: state, at: start) { state = next }
      }
      let plan = AllowancePlan.rate(try some())
      let now = after(start, Int64.random(in: -86_400...60, using: &random) * second)
      guard case .refused(let wait) = plan.take(from: state, at: now) else { continue }
      let count = plan.count(of: state, at: now)
      #expect(count.remaining == 0 && count.reset == wait)
      if wait > 1, case .taken = plan.take(from: state, at: after(now, (wait - 1) * second)) {
        Issue.record("told to wait too long")
      }
      // A refusal saves nothing, so waiting alone must be enough.
      guard case .taken = plan.take(from: state, at: after(now, wait * second)) else {
        Issue.record("\(wait) s were not enough")
        return
      }
    }
  }

  @Test func `an instance whose clock is behind gives one that is ahead nothing back`() throws {
    // The instances share the state and take turns. One clock is three seconds ahead.
    let plan = try rate(10, per: 10 * second)
    var state: AllowanceState?
    var granted = 0
    for step in 0..<400 {
      let now = after(start, Int64(step) * second / 4 + (step % 2 == 0 ? 3 * second : 0))
      if case .taken(let next) = plan.take(from: state, at: now) {
        state = next
        granted += 1
      }
    }
    // A burst, the requests earned in 100 seconds, and those earned in the three seconds.
    #expect(granted <= 10 + 100 + 3)
  }

  @Test func `counts given are counts used`() throws {
    let plan = try rate(7, burst: 5)
    for used in 0...5 as ClosedRange<Int64> {
      #expect(plan.count(of: plan.state(used: used, at: start), at: start).remaining == 5 - used)
    }
    guard case .refused = plan.take(from: plan.state(used: 30, at: start), at: start) else {
      Issue.record("thirty of five are used up")
      return
    }
  }

  @Test(
    arguments: [
      // limit, per in milliseconds, burst: q, w
      (30, 60_000, 10, 30, 60), (30, 60_000, 30, 30, 60), (1, 60_000, 10, 10, 600), (60, 60_000, 90, 90, 90),
      (1, 1, 1, 1000, 1), (10, 500, 10, 20, 1), (3, 1500, 3, 4, 2), (7, 60_000, 8, 8, 69),
      (1, 1, 5000, 5000, 5),
      (1, 86_400_000, 1, 1, 86_400),
    ] as [(Int64, Int64, Int64, Int64, Int64)])
  func `the policy told is the rate, and holds all that may be left`(
    _ limit: Int64, _ per: Int64, _ burst: Int64, _ quota: Int64, _ window: Int64
  ) throws {
    let count = try rate(limit, per: per * 1_000_000, burst: burst).count(of: nil, at: start)
    #expect(count.limit == quota && count.window == window, "\(count)")
    #expect(count.remaining == burst)
  }

  @Test func `no more is left than the policy told has, and it has no more than its window earns`() throws {
    var random = SeededGenerator(5)
    for _ in 0..<5000 {
      let limit =
        Int64.random(in: 1...1_000_000_000, using: &random) >> Int64.random(in: 0..<30, using: &random)
      let per =
        1_000_000 + Int64.random(in: 0...31_622_400_000_000_000, using: &random)
        >> Int64.random(in: 6..<50, using: &random)
      let burst = max(
        1, Int64.random(in: 1...1_000_000_000, using: &random) >> Int64.random(in: 0..<30, using: &random))
      guard let rate = try? RateLimit(limit: max(1, limit), per: per, burst: burst) else { continue }
      let count = rate.count(of: nil, at: start)
      #expect(count.remaining <= count.limit && count.window >= 1)
      #expect(Int128(count.limit) * Int128(per) <= Int128(count.window) * 1_000_000_000 * Int128(rate.limit))
      #expect(count.limit < 1_000_000_000_000_000, "no integer of a structured field")
    }
  }

  @Test func `a state is worth nothing from its expiry on`() throws {
    let plan = try rate(7, burst: 5)
    let state = try #require(plan.state(used: 5, at: start))
    #expect(plan.count(of: state, at: Instant(seconds: plan.expiry(of: state))).remaining == 5)
    #expect(plan.count(of: state, at: Instant(seconds: plan.expiry(of: state) - 1)).remaining == 4)
  }

  @Test func `limits that cannot be counted are refused`() throws {
    #expect(throws: Refusal.self) { try RateLimit(limit: 0, per: second) }
    #expect(throws: Refusal.self) { try RateLimit(limit: 1_000_000_001, per: second) }
    #expect(throws: Refusal.self) { try RateLimit(limit: 1, per: 999_999) }
    #expect(throws: Refusal.self) { try RateLimit(limit: 1, per: 31_622_400 * second + 1) }
    #expect(throws: Refusal.self) { try RateLimit(limit: 1, per: second, burst: 0) }
    #expect(throws: Refusal.self) { try RateLimit(limit: 1, per: 86_400 * second, burst: 3651) }
    _ = try RateLimit(limit: 1, per: 86_400 * second, burst: 3650)
    _ = try RateLimit(limit: 1_000_000_000, per: 31_622_400 * second, burst: 1_000_000_000)
  }

  @Test func `any state a store gives back is survived`() throws {
    let values: [Int64] = [.min, -1, 0, 1, 20_775, 1_795_000_000_000_000_000, .max]
    let times = [start, Instant(seconds: 0), Instant(seconds: 253_402_300_799), Instant(seconds: .max)]
    for plan in [
      try rate(7), try rate(1_000_000_000, per: 31_622_400 * second),
      .quota(try Quota(limit: 5, period: .month, zone: .utc)),
    ] {
      let states = values.flatMap { mark in values.map { AllowanceState(mark: mark, count: $0) } }
      for state in states {
        for time in times {
          #expect(plan.count(of: state, at: time).remaining >= 0)
          _ = plan.take(from: state, at: time)
          for taken in states { _ = plan.giveBack(to: state, taken: taken, at: time) }
        }
        _ = plan.expiry(of: state)
      }
    }
  }

  @Test func `fields are structured fields`() throws {
    let statuses = [
      AllowanceStatus(
        rule: "per-caller", count: AllowanceCount(limit: 30, window: 60, remaining: 0, reset: 12)),
      AllowanceStatus(
        rule: "a\"b", count: AllowanceCount(limit: 5, window: 86_400, remaining: 4, reset: 3600)),
    ]
    #expect(statuses.rateLimitPolicy == #""per-caller";q=30;w=60, "a\"b";q=5;w=86400"#)
    #expect(statuses.rateLimit == #""per-caller";r=0;t=12, "a\"b";r=4;t=3600"#)
  }
}
