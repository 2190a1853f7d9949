// Tests that whole policies keep their limits over a store, through rule changes and clock changes.

import Gate
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Policies with hours, rates and quotas on one store, while rules change and the clock is put back.
@Suite struct WholePolicyTests {
  private struct Schedule {
    /// A grant: the time elapsed, the clock's time, and its receipts.
    struct Grant {
      var time: Double
      var clock: Instant
      var receipts: [AllowanceReceipt]
    }

    var generator: SeededGenerator
    let ledgers: [AllowanceLedger]
    var allowances: Allowances
    /// Seconds elapsed, and seconds by which the clock was put back: never so far that it shows a time before
    /// noon.
    var time = 864_000.0
    var back = 0.0
    /// Grants since the last change of rules.
    var grants: [Grant] = []
    var waits = 0

    var clock: Double { time - back }

    init(seed: Int) throws {
      generator = SeededGenerator(UInt64(seed))
      let memory = CountingStore()
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
      // A rule with the same name has the same kind. Everything else about it may change.
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

    mutating func step() async throws {
      let gaps: [Double] = [0, 0, 0, 0.1, 1, 10, 200, 5000]
      // Multiples of 1/1024 s, whose sums are exact.
      time +=
        ((gaps.randomElement(using: &generator) ?? 0) * Double.random(in: 0...1, using: &generator) * 1024)
        .rounded() / 1024
      if chance(25) {
        checkLimits()
        grants = []
        allowances = try Self.allowances(&generator)
      }
      if chance(30) { back += Double(Int.random(in: 0...5000, using: &generator)) }
      let ledger = ledgers[Int.random(in: 0..<ledgers.count, using: &generator)]
      let request = try await ask(ledger)
      // If hours exclude each other, there is nothing to wait for.
      guard request.grant == nil, let wait = request.retryAfter else { return }
      time += Double(wait)
      let again = try await ask(ledger)
      if again.decision.denial?.code == .closed, again.retryAfter == nil { return }
      waits += 1
      #expect(again.grant != nil, "after \(wait) of \(String(describing: request.decision.denial)): \(again)")
    }

    private mutating func ask(_ ledger: AllowanceLedger) async throws -> LedgerRequest {
      let request = try await ledger.request(allowances, at: .noon(clock))
      if let grant = request.grant {
        grants.append(Grant(time: time, clock: .noon(clock), receipts: grant.receipts))
      }
      return request
    }

    /// Checks that between any two grants there are no more than a burst and what the time between them
    /// earned, and in no period more than a quota, whatever the store has from before.
    ///
    /// The clock does not tell in which period a grant counts: after it was put back past midnight, new
    /// grants still count in the day that had begun. But no grant counts in a period that has ended.
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
          // The end of a period identifies it.
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

  @Test(arguments: 0..<rounds(60, of: 300))
  func `no limit is exceeded, and a retry after Retry-After succeeds`(_ seed: Int) async throws {
    var schedule = try Schedule(seed: seed)
    for _ in 0..<200 { try await schedule.step() }
    schedule.checkLimits()
  }

  @Test func `after midnight a request counts in the new day, also where the clock is put back`() async throws
  {
    let ledger = AllowanceLedger(store: ScriptedStore(sharing: .machine))
    let allowances = try Allowances([try Allowances.quota("daily", limit: 40)])
    let midnight = 43_200.0
    var used: [Int64: Int] = [:]
    func ask(_ time: Double) async throws -> Bool {
      let grant = try await ledger.request(allowances, at: .noon(time)).grant
      if let day = grant?.receipts.first?.taken.mark { used[day, default: 0] += 1 }
      return grant != nil
    }
    for _ in 0..<2 { #expect(try await ask(midnight - 10)) }
    #expect(try await ask(midnight + 1))
    // Takes everything that is left. Nothing counts in the day that has ended.
    for time in [midnight - 5, midnight + 2] { while try await ask(time) {} }
    #expect(used.values.sorted() == [2, 40])
  }

  @Test func `a refusal by one rule names the time after which all of them allow`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([
      try Allowances.rate("fast", limit: 1, per: 3600), try Allowances.quota("daily", limit: 1),
    ])
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
    let refused = try await ledger.request(allowances, at: .noon(600))
    #expect(refused.decision.denial?.rule == "fast" && refused.retryAfter == 43_200 - 600)
  }
}
