// Tests of the store in memory: its size, cleanup and exactness.

import Gate
import Platform
import Testing

@testable import Store

@Suite struct MemoryStoreTests {
  @Test func `a million keys cost at most 150 MB and their memory comes back`() throws {
    let store = MemoryStore()
    let rate = try RateLimit(limit: 30, per: 60_000_000_000, burst: 10)
    let plan = AllowancePlan.rate(rate)
    let now = Instant.noon()
    guard case .taken(let state) = plan.take(from: nil, at: now) else { return #expect(Bool(false)) }
    for number in 0..<1_000_000 {
      let key = AllowanceKey(rule: "per-address", party: .address(IPAddress(v4: UInt32(number))))
      store.update([key]) { _ in
        AllowanceUpdate(writes: [.put(state, expiry: plan.expiry(of: state))], result: ())
      }
    }
    let full = store.footprint
    #expect(full.count == 1_000_000)
    #expect(full.bytes <= 150_000_000, "\(full.bytes)")
    #expect(store.purge(at: .noon(1)) == 0)
    #expect(store.purge(at: .noon(3)) == 1_000_000)
    #expect(store.footprint.count == 0)
    #expect(store.footprint.bytes < 100_000)
  }

  @Test func `what is over is forgotten as others are written`() throws {
    let store = MemoryStore()
    let allowances = try Allowances([try Allowances.rate(limit: 60, per: 60)])
    // A thousand a second, each kept for a second: never much more than that.
    for number in 0..<20_000 {
      let now = Instant.noon(Double(number) / 1000)
      let charges = allowances.charges("\(number)", at: now)
      #expect(store.take(charges, charges.map { store.id(of: $0.key) }, at: now).isTaken)
    }
    #expect(store.footprint.count < 6000, "\(store.footprint)")
  }

  @Test func `the ledger before it answers everything at once and exactly`() throws {
    let ledger = AllowanceLedger(store: MemoryStore())
    let allowances = try Allowances([
      try Allowances.rate(limit: 5, per: 60), try Allowances.quota(limit: 3, key: .subject),
    ])
    var granted = 0
    for _ in 0..<10 {
      let view = ledger.view(at: .noon())
      let decision = allowances.policy.decide(allowances.facts(at: .noon()), states: view)
      #expect(!view.isIncomplete)
      guard case .allow(let clearance) = decision.outcome else { continue }
      let (_, grant) = decision.settled(try #require(view.take(clearance.charges)), at: .noon()).parts()
      granted += 1
      #expect(grant?.statuses.map(\.count.remaining) == [Int64(5 - granted), Int64(3 - granted)])
    }
    #expect(granted == 3)
  }
  @Test func `after the clock went back, what was used later refuses nothing once it is forgotten`()
    async throws
  {
    let ledger = AllowanceLedger(store: MemoryStore())
    let allowances = try Allowances([try Allowances.rate(limit: 2, per: 60), try Allowances.quota(limit: 2)])
    func takes(at now: Instant) async -> Bool {
      await ledger.take(allowances.charges(at: now), at: now).isTaken
    }
    let tomorrow = Instant.noon(86_400)
    #expect(await takes(at: tomorrow))
    #expect(await takes(at: tomorrow))
    #expect(await !takes(at: .noon()))
    ledger.forgetMemory()
    #expect(await takes(at: .noon()))
  }
}
