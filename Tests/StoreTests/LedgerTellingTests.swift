import Gate
import Synchronization
import TestSupport
import Testing

@testable import Store

/// What an instance that has its store to itself tells of what is left, with refills that are answered late.
@Suite struct LedgerTellingTests {
  /// One random schedule of requests, one after the other.
  private struct Schedule {
    var generator: SeededGenerator
    let allowances: Allowances
    let store = ScriptedStore(sharing: .machine)
    let ledger: AllowanceLedger
    let plan: AllowancePlan
    let id: LocalID
    var time = 0.0
    /// What exact counting would keep.
    var exact: AllowanceState?
    var granted = 0
    /// How often a request was counted by the store while a refill's answer was late.
    var passed = 0

    init(seed: Int) throws {
      generator = SeededGenerator(UInt64(seed))
      let limit = Int64([12, 20, 50, 200].randomElement(using: &generator) ?? 20)
      allowances = try Allowances([
        seed.isMultiple(of: 2)
          ? try Allowances.quota(limit: limit) : try Allowances.rate(limit: limit, per: 600)
      ])
      ledger = AllowanceLedger(store: store)
      let charge = allowances.charges(at: .noon())[0]
      plan = charge.plan
      id = ledger.id(of: charge.key)
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    mutating func step() async throws {
      if chance(3) { time += Double.random(in: 0...5, using: &generator) }
      let now = Instant.noon(time)
      // A request that a lease answers at once asks the store for nothing but the refill.
      let isAtOnce = ledger.book?.isLeased(id) == true && ledger.lookup(id, at: now) != nil
      let holds = isAtOnce && !store.isHolding && chance(2)
      if holds { store.holdNext() }
      let request = try await ledger.request(allowances, at: now)
      if holds {
        while ledger.refilling.load(ordering: .acquiring) > 0, !store.isHolding { await Task.yield() }
        store.holdNext(false)
      } else if store.isHolding, !request.isImmediate {
        passed += 1
      }
      if request.grant != nil {
        granted += 1
        guard case .taken(let next) = plan.take(from: exact, at: now) else {
          Issue.record("request \(granted) exceeds the limit")
          return
        }
        exact = next
        let told = try #require(request.remaining)
        let left = plan.count(of: exact, at: now).remaining
        #expect(told <= left, "after \(granted): told \(told), left \(left)")
      }
      if store.isHolding, chance(4) {
        store.release()
        await ledger.settle()
      } else if !store.isHolding {
        await ledger.settle()
      }
    }
  }

  @Test func `no more is told than is left, however late refills are answered`() async throws {
    var passed = 0
    for seed in 0..<400 {
      var schedule = try Schedule(seed: seed)
      for _ in 0..<150 { try await schedule.step() }
      schedule.store.release()
      await schedule.ledger.settle()
      passed += schedule.passed
      if case .quota(let quota) = schedule.plan {
        // And all of it is given out in the end.
        for _ in 0..<quota.limit
        where try await schedule.ledger.request(
          schedule.allowances, at: .noon(schedule.time)
        ).grant != nil {
          schedule.granted += 1
          await schedule.ledger.settle()
        }
        #expect(schedule.granted == Int(quota.limit), "seed \(seed)")
      }
    }
    #expect(passed > 100, "\(passed)")
  }
}
