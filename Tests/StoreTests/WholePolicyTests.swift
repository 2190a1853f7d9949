// Tests that whole policies keep their limits over a store, through rule changes and clock changes.

import Gate
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Policies of hours, rates and quotas in front of a store, through changes of rules and clocks put back.
@Suite struct WholePolicyTests {
  private struct Schedule {
    /// One grant by the time that passes, by the clock, and as it was counted.
    struct Grant {
      var time: Double
      var clock: Instant
      var receipts: [AllowanceReceipt]
    }

    var generator: SeededGenerator
    let ledgers: [AllowanceLedger]
    var allowances: Allowances
    /// The time that passes, and by how much the clock was put back: never as far as to before noon.
    var time = 864_000.0
    var back = 0.0
    /// Grants since the rules were changed last.
    var grants: [Grant] = []
    var waits = 0

    var clock: Double { time - back }

    init(seed: Int) throws {
      generator = SeededGenerator(UInt64(seed))
      let memory = MemoryStore()
      let isAlone = seed % 2 == 0
      let sharing: StoreSharing = isAlone ? .machine : .instances
      ledgers = (0..<(isAlone ? 1 : 3)).map { number in
        let store = ScriptedStore(memory, sharing: sharing)
        store.lag(seed: UInt64(seed + number))
        return AllowanceLedger(store: store)
      }
      allowances = try Self.allowances(&generator)
    }

    private static func allowances(_ generator: inout SeededGenerator) throws -> Allowances {
      var rules: [Rule] = []
      // A rule that keeps its name keeps its kind, and changes everything else.
      for place in 0..<Int.random(in: 1...4, using: &generator) {
        let limit = Int64([1, 2, 5, 20, 100].randomElement(using: &generator) ?? 5)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
          // Open at noon, and closing within hours or minutes.
          let end = 43_200 + 60 * Int.random(in: 1...600, using: &generator)
          let window = try OpeningWindow(start: 43_200, end: end)
          rules.append(
            try Rule(
              name: "hours-\(place)", kind: .hours(try Self.schedule([window]))))
        case 1, 2:
          rules.append(
            try Allowances.quota(
              "quota-\(place)", limit: limit, Quota.Period.allCases.randomElement(using: &generator) ?? .day))
        default:
          let spans: [Double] = [1, 7, 60, 600, 3600]
          rules.append(
            try Allowances.rate(
              "rate-\(place)", limit: limit, per: spans.randomElement(using: &generator) ?? 60,
              burst: Bool.random(using: &generator) ? limit : max(1, limit / 3)))
        }
      }
      return try Allowances(rules.shuffled(using: &generator))
    }

    private static func schedule(_ windows: [OpeningWindow]) throws -> Gate.Schedule {
      try Gate.Schedule(zone: .utc, weekly: Array(repeating: windows, count: 7))
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    private func settleAll() async { for ledger in ledgers { await ledger.settle() } }

    mutating func step() async throws {
      let gaps: [Double] = [0, 0, 0, 0.1, 1, 10, 200, 5000]
      // In parts of a second that a sum of them holds exactly.
      time +=
        ((gaps.randomElement(using: &generator) ?? 0) * Double.random(in: 0...1, using: &generator) * 1024)
        .rounded() / 1024
      if chance(25) {
        checkLimits()
        grants = []
        // What was on its way by the old rules arrives, and no instance believes any more what it saw then.
        await settleAll()
        time += 1
        allowances = try Self.allowances(&generator)
      }
      if chance(30) {
        // More that is fetched by the clock as it was comes before someone is told how long to wait by the clock as it is.
        await settleAll()
        back += Double(Int.random(in: 0...5000, using: &generator))
      }
      let ledger = ledgers[Int.random(in: 0..<ledgers.count, using: &generator)]
      let request = try await ask(ledger)
      if chance(8) { for ledger in ledgers { await ledger.sweep(at: .noon(clock)) } }
      // Nothing to wait for where hours exclude each other.
      guard request.grant == nil, let wait = request.retryAfter else { return }
      await settleAll()
      time += Double(wait)
      let again = try await ask(ledger)
      if again.decision.denial?.code == .closed, again.retryAfter == nil { return }
      waits += 1
      #expect(again.grant != nil, "after \(wait) of \(String(describing: request.decision.denial)): \(again)")
    }

    private mutating func ask(_ ledger: AllowanceLedger) async throws -> LedgerRequest {
      let request = try await ledger.request(allowances, at: .noon(clock))
      if !chance(4) { await ledger.settle() }
      if let grant = request.grant {
        grants.append(Grant(time: time, clock: .noon(clock), receipts: grant.receipts))
      }
      return request
    }

    /// Between any two grants no more than a burst and what the time between them earned; and in no period more than a
    /// quota, whatever was kept from before.
    ///
    /// The clock does not tell in which period a grant is to be counted: after it was put back past midnight, new ones
    /// count in the day that had begun, and those of a lease in the day they were leased in. But it is never a period
    /// that is over.
    func checkLimits() {
      for rule in allowances.policy.rules {
        switch rule.kind {
        case .rate(let rate, _, _):
          for first in grants.indices {
            for last in grants[first...].indices {
              let earned =
                (grants[last].time - grants[first].time) * Double(rate.limit) * 1e9 / Double(rate.per)
              #expect(Double(last - first + 1 - Int(rate.burst)) <= earned + 1e-3, "\(rate)")
            }
          }
        case .quota(let quota, _, _):
          // The end of a period names it.
          var used: [Int64: Int64] = [:]
          for grant in grants {
            let end = grant.receipts.first { $0.key.rule == rule.name }.map { quota.end(of: $0.taken) }
            #expect(end ?? 0 > grant.clock.seconds, "\(grant)")
            used[end ?? 0, default: 0] += 1
          }
          #expect(used.values.allSatisfy { $0 <= quota.limit }, "\(used) of \(quota.limit)")
        default: break
        }
      }
    }
  }

  @Test(arguments: 0..<300)
  func `no limit is exceeded, and a retry after Retry-After succeeds`(_ seed: Int) async throws {
    var schedule = try Schedule(seed: seed)
    for _ in 0..<200 { try await schedule.step() }
    schedule.checkLimits()
  }

  @Test(arguments: [StoreSharing.machine, .instances])
  func `a lease that comes after midnight counts in its own day, also where the clock is put back`(
    _ sharing: StoreSharing
  ) async throws {
    let store = ScriptedStore(sharing: sharing)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota("daily", limit: 40)])
    let midnight = 43_200.0
    var used: [Int64: Int] = [:]
    @discardableResult func ask(_ time: Double) async throws -> Bool {
      let grant = try await ledger.request(allowances, at: .noon(time)).grant
      if let day = grant?.receipts.first?.taken.mark { used[day, default: 0] += 1 }
      return grant != nil
    }
    // Until more is being fetched, and the answer is on its way.
    try await ask(midnight - 10)
    try await ask(midnight - 10)
    store.holdNext()
    while !store.isHolding, try await ask(midnight - 10) { for _ in 0..<100 { await Task.yield() } }
    try #require(store.isHolding)
    try await ask(midnight + 1)
    store.release()
    await ledger.settle()
    // Everything that is left of both days.
    for time in [midnight - 5, midnight + 2, midnight - 4, midnight + 3] {
      while try await ask(time) { await ledger.settle() }
    }
    #expect(used.count == 2 && used.values.allSatisfy { $0 <= 40 }, "\(used)")
    #expect(used.values.max() == 40)
  }

  @Test(arguments: [StoreSharing.machine, .instances])
  func `a rule that was changed while its allowance is leased is waited for as told`(_ sharing: StoreSharing)
    async throws
  {
    let ledger = AllowanceLedger(store: ScriptedStore(sharing: sharing))
    let wide = try Allowances([try Allowances.rate("r", limit: 30, per: 60)])
    for number in 0..<12 { _ = try await ledger.request(wide, at: .noon(Double(number) / 100)) }
    await ledger.settle()
    let narrow = try Allowances([try Allowances.rate("r", limit: 30, per: 60, burst: 2)])
    var time = 1.0
    for _ in 0..<5 {
      let request = try await ledger.request(narrow, at: .noon(time))
      guard request.grant == nil else { continue }
      time += Double(try #require(request.retryAfter))
      #expect(try await ledger.request(narrow, at: .noon(time)).grant != nil)
    }
  }

  @Test func `a refusal before other rules are known asks the store once a second`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([
      try Allowances.rate("fast", limit: 1, per: 3600), try Allowances.quota("daily", limit: 5),
      try Allowances.quota("never-used", limit: 5, key: .app),
    ])
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
    let before = store.updates + store.reads
    for number in 0..<5000 {
      let request = try await ledger.request(allowances, at: .noon(Double(number) / 1000))
      #expect(request.decision.denial?.rule == "fast")
    }
    #expect(store.updates + store.reads - before <= 12)
  }
}
