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

  @Test func `after the clock went back, what was used later refuses nothing once it is forgotten`()
    async throws
  {
    let ledger = AllowanceLedger(store: MemoryStore())
    let allowances = try Allowances([try Allowances.rate(limit: 2, per: 60), try Allowances.quota(limit: 2)])
    func takes(at now: Instant) async -> Bool {
      await ledger.take(allowances.charges(at: now), at: now).outcome.isTaken
    }
    let tomorrow = Instant.noon(86_400)
    #expect(await takes(at: tomorrow))
    #expect(await takes(at: tomorrow))
    #expect(await !takes(at: .noon()))
    ledger.forgetMemory()
    #expect(await takes(at: .noon()))
  }
}
