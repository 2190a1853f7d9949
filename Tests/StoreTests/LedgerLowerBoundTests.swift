// Tests that callers are never told of more remaining requests than there are.

import Gate
import Synchronization
import TestSupport
import Testing

@testable import Store

/// What callers are told of what is left: by an instance that has its store to itself, with refills that are answered late, and by two
/// that share one.
@Suite struct LedgerLowerBoundTests {
  /// One random schedule of requests, one after the other.
  private struct Schedule {
    var generator: SeededGenerator
    let allowances: Allowances
    let store: ScriptedStore
    let ledger: AllowanceLedger
    /// Nil where the first has the store to itself.
    let other: AllowanceLedger?
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
      let isShared = seed % 3 == 0
      store = ScriptedStore(sharing: isShared ? .instances : .machine)
      ledger = AllowanceLedger(store: store)
      other = isShared ? AllowanceLedger(store: store) : nil
      let charge = allowances.charges(at: .noon())[0]
      plan = charge.plan
      id = ledger.id(of: charge.key)
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    mutating func step() async throws {
      if chance(3) { time += Double.random(in: 0...5, using: &generator) }
      let now = Instant.noon(time)
      // A request that a lease answers at once asks the store for nothing but the refill.
      let isAtOnce = if case .left = ledger.book?.holding(id, plan, at: now) { true } else { false }
      let holds = isAtOnce && other == nil && !store.isHolding && chance(2)
      if holds { store.holdNext() }
      let asked = chance(2) ? other ?? ledger : ledger
      let request = try await asked.request(allowances, at: now)
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
        await other?.settle()
      }
    }
  }

  @Test
  func `no more is told than is left, however late refills are answered, and however many instances take`()
    async throws
  {
    var passed = 0
    for seed in 0..<400 {
      var schedule = try Schedule(seed: seed)
      for _ in 0..<150 { try await schedule.step() }
      schedule.store.release()
      await schedule.ledger.settle()
      passed += schedule.passed
      if case .quota(let quota) = schedule.plan, schedule.other == nil {
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

  @Test func `an instance that has its store to itself counts down one by one`() async throws {
    let ledger = AllowanceLedger(store: ScriptedStore(sharing: .machine))
    for allowances in [
      try Allowances([try Allowances.quota(limit: 30)]),
      try Allowances([try Allowances.rate(limit: 30, per: 600)]),
    ] {
      for number in 1...30 {
        #expect(try await ledger.request(allowances, at: .noon()).remaining == Int64(30 - number))
        await ledger.settle()
      }
    }
  }

  @Test func `without taking, what is left here and in the store is one number`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let (ledger, other) = (AllowanceLedger(store: store), AllowanceLedger(store: store))
    let allowances = try Allowances([try Allowances.quota(limit: 1000)])
    for _ in 0..<5 { _ = try await ledger.request(allowances, at: .noon()) }
    _ = try await other.request(allowances, at: .noon())
    await ledger.settle()
    let charges = allowances.charges(at: .noon())
    let states = try await ledger.states(of: charges, at: .noon())
    guard case .state(let state) = states.lookup(charges[0].key) else { return #expect(Bool(false)) }
    #expect(charges[0].plan.count(of: state, at: .noon()).remaining == 994)
  }
}
