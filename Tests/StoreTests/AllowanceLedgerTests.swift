// Tests of how rates and quotas are counted with leases from a store.

import Gate
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite struct AllowanceLedgerTests {
  @Test func `a busy allowance is answered at once nearly always`() async throws {
    let store = ScriptedStore(sharing: .machine)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([
      try Allowances.rate(limit: 600_000, per: 60, key: .global), try Allowances.quota(limit: 1_000_000),
    ])
    var immediate = 0
    for number in 0..<10_000 {
      // 2,000 a second.
      let request = try await ledger.request(allowances, at: .noon(Double(number) / 2000))
      #expect(request.grant != nil)
      if request.isImmediate { immediate += 1 }
      await ledger.settle()
    }
    #expect(immediate >= 9_990, "\(immediate)")
    #expect(store.updates < 100, "\(store.updates)")
  }

  @Test(arguments: [StoreSharing.machine, .instances])
  func `a quota is never exceeded and, by one instance, used to the last`(_ sharing: StoreSharing)
    async throws
  {
    let store = ScriptedStore(sharing: sharing)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota(limit: 1000)])
    var granted = 0
    for number in 0..<3000 {
      let request = try await ledger.request(allowances, at: .noon(Double(number) / 100))
      if request.grant != nil { granted += 1 }
      await ledger.settle()
    }
    #expect(granted == 1000)
    // The next day there are as many again.
    for number in 0..<1500 {
      if try await ledger.request(allowances, at: .noon(86_400 + Double(number) / 100)).grant != nil {
        granted += 1
      }
      await ledger.settle()
    }
    #expect(granted == 2000)
  }

  @Test func `a limit too small to lease is taken one by one`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let ledgers = (0..<3).map { _ in AllowanceLedger(store: store) }
    let allowances = try Allowances([try Allowances.quota(limit: 5)])
    var granted = 0
    for number in 0..<30 {
      let request = try await ledgers[number % 3].request(allowances, at: .noon(Double(number) / 10))
      if let remaining = request.remaining { #expect(remaining == Int64(4 - granted)) }
      if request.grant != nil { granted += 1 }
    }
    #expect(granted == 5)
  }

  @Test func `hammering an exhausted allowance costs the store one trip a second`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota(limit: 1)])
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
    let before = store.updates + store.reads
    for number in 0..<5000 {
      let request = try await ledger.request(allowances, at: .noon(Double(number) / 1000))
      #expect(request.decision.denial?.code == .quotaExhausted)
      #expect(request.retryAfter == 43_200 - Int64(number) / 1000)
    }
    #expect(store.updates + store.reads - before <= 12)
  }

  @Test func `an exhausted audit rule is no reason to ask the store each time`() async throws {
    let store = ScriptedStore(sharing: .machine)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([
      try Allowances.quota("seen", limit: 1, mode: .audit), try Allowances.rate(limit: 100_000, per: 60),
    ])
    var immediate = 0
    for number in 0..<1000 {
      let request = try await ledger.request(allowances, at: .noon(Double(number) / 500))
      #expect(request.grant != nil)
      #expect(request.decision.verdicts[0].verdict == (number == 0 ? .allow : .wouldDeny), "\(number)")
      if request.isImmediate { immediate += 1 }
      await ledger.settle()
    }
    #expect(immediate > 990, "\(immediate)")
  }

  @Test func `leases go on while the store is down, and then it denies`() async throws {
    let store = ScriptedStore(sharing: .machine)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota(limit: 1000)])
    for _ in 0..<4 { _ = try await ledger.request(allowances, at: .noon()) }
    await ledger.settle()
    store.setDown(true)
    var granted = 0
    while try await ledger.request(allowances, at: .noon()).grant != nil {
      granted += 1
      await ledger.settle()
    }
    #expect(granted > 0)
    let denied = try await ledger.request(allowances, at: .noon())
    #expect(denied.decision.denial?.code == .storeUnavailable)
    store.setDown(false)
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
  }

  @Test func `a rule may allow what cannot be counted`() async throws {
    let store = ScriptedStore(sharing: .machine)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota(limit: 1, onFailure: .allow)])
    store.setDown(true)
    for _ in 0..<3 { #expect(try await ledger.request(allowances, at: .noon()).grant != nil) }
    // What could not be counted was not.
    store.setDown(false)
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
    #expect(try await ledger.request(allowances, at: .noon()).grant == nil)
  }

  @Test func `a crash wastes at most what was leased`() async throws {
    let memory = MemoryStore()
    let allowances = try Allowances([try Allowances.quota(limit: 1000)])
    var granted = 0
    for _ in 0..<20 {
      // Each ledger is forgotten as a crash would.
      let ledger = AllowanceLedger(store: ScriptedStore(memory, sharing: .machine))
      for number in 0..<30 {
        if try await ledger.request(allowances, at: .noon(Double(number))).grant != nil { granted += 1 }
        await ledger.settle()
      }
    }
    #expect(granted <= 1000)
    #expect(granted >= 400, "\(granted)")
  }

  @Test func `an orderly end gives back all that was leased`() async throws {
    let memory = MemoryStore()
    let allowances = try Allowances([
      try Allowances.quota(limit: 1000), try Allowances.rate(limit: 1000, per: 3600),
    ])
    var granted: Int64 = 0
    for _ in 0..<20 {
      let ledger = AllowanceLedger(store: ScriptedStore(memory, sharing: .instances))
      for _ in 0..<30 {
        if try await ledger.request(allowances, at: .noon()).grant != nil { granted += 1 }
        await ledger.settle()
      }
      await ledger.close(at: .noon())
      #expect(ledger.leaseCount == 0)
    }
    let charges = allowances.charges(at: .noon())
    let states = memory.states(of: charges.map(\.key))
    #expect(states[0]?.count == granted)
    #expect(charges[1].plan.count(of: states[1], at: .noon()).remaining == 1000 - granted)
  }

  @Test func `unused leases are given back in time`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota(limit: 1000)])
    for _ in 0..<3 { _ = try await ledger.request(allowances, at: .noon()) }
    await ledger.settle()
    let key = allowances.charges(at: .noon())[0].key
    #expect((store.memory.states(of: [key])[0]?.count ?? 0) > 3)
    await ledger.sweep(at: .noon(1))
    #expect((store.memory.states(of: [key])[0]?.count ?? 0) > 3)
    await ledger.sweep(at: .noon(6))
    #expect(store.memory.states(of: [key])[0]?.count == 3)
    #expect(ledger.leaseCount == 0)
  }

  @Test(arguments: [StoreSharing.machine, .instances])
  func `what is given back is there again`(_ sharing: StoreSharing) async throws {
    let ledger = AllowanceLedger(store: ScriptedStore(sharing: sharing))
    let allowances = try Allowances([
      try Allowances.quota(limit: 40), try Allowances.rate(limit: 40, per: 3600),
    ])
    var granted = 0
    for number in 0..<400 {
      let request = try await ledger.request(allowances, at: .noon())
      guard let grant = request.grant else { continue }
      // Every other request comes to nothing.
      if number % 2 == 0 { await ledger.giveBack(grant.receipts, at: .noon()) } else { granted += 1 }
      await ledger.settle()
    }
    #expect(granted == 40)
  }

  @Test func `what a refused request took from a lease goes back to it`() async throws {
    let store = ScriptedStore(sharing: .machine)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([
      try Allowances.quota("wide", limit: 100, key: .global), try Allowances.quota("narrow", limit: 3),
    ])
    for number in 0..<60 { _ = try await ledger.request(allowances, "caller-\(number % 6)", at: .noon()) }
    await ledger.settle()
    await ledger.close(at: .noon())
    let key = allowances.charges("x", at: .noon())[0].key
    #expect(store.memory.states(of: [key])[0]?.count == 18)
  }

  @Test func `a lease on other terms is void`() async throws {
    let ledger = AllowanceLedger(store: ScriptedStore(sharing: .machine))
    let before = try Allowances([try Allowances.quota("r", limit: 1000)])
    for _ in 0..<5 { _ = try await ledger.request(before, at: .noon()) }
    await ledger.settle()
    // The rule becomes stricter, then a rate: what was used counts, what was leased gives nothing.
    let stricter = try Allowances([try Allowances.quota("r", limit: 5)])
    #expect(try await ledger.request(stricter, at: .noon()).grant == nil)
    let rate = try Allowances([try Allowances.rate("r", limit: 10, per: 60)])
    var granted = 0
    for _ in 0..<100 where try await ledger.request(rate, at: .noon(2)).grant != nil { granted += 1 }
    #expect(granted <= 10)
  }

  @Test func `the book is bounded, and what has no place in it goes to the store`() async throws {
    let store = ScriptedStore(sharing: .machine)
    var settings = LeaseSettings.alone
    settings.entries = 64
    let ledger = AllowanceLedger(store: store, settings: settings)
    let allowances = try Allowances([try Allowances.quota(limit: 4)])
    var granted = 0
    for number in 0..<6000 {
      if try await ledger.request(allowances, "\(number % 1000)", at: .noon()).grant != nil { granted += 1 }
    }
    await ledger.settle()
    #expect(granted == 4000)
    #expect(ledger.leaseCount <= 64)
  }
}

@Suite struct LedgerPropertyTests {
  /// One random schedule: requests to a few instances, refills sometimes late, some given back, leases swept.
  private struct Schedule {
    var generator: SeededGenerator
    let isAlone: Bool
    let rate: RateLimit
    let allowances: Allowances
    let ledgers: [AllowanceLedger]
    /// Whether what is given back was taken some time ago. Several of those, out of turn, may free a little less than
    /// one request too much (docs/decisions/0007-rules.md).
    let givesBackLate: Bool
    var time = 0.0
    var kept: [(at: Instant, receipts: [AllowanceReceipt])] = []

    init(seed: Int) throws {
      generator = SeededGenerator(UInt64(seed))
      isAlone = seed % 3 == 0
      givesBackLate = seed % 4 == 1
      let limit = Int64([1, 3, 7, 30, 100, 1000].randomElement(using: &generator) ?? 7)
      let spans: [Double] = [1, 7, 60, 600]
      let per = spans.randomElement(using: &generator) ?? 1
      let burst = Bool.random(using: &generator) ? limit : max(1, limit / 3)
      rate = try RateLimit(limit: limit, per: Int64(per * 1e9), burst: burst)
      allowances = try Allowances([try Allowances.rate(limit: limit, per: per, burst: burst)])
      let memory = MemoryStore()
      let count = isAlone ? 1 : Int.random(in: 2...4, using: &generator)
      var settings = isAlone ? LeaseSettings.alone : .shared
      if Bool.random(using: &generator) {
        // Terms that make more of what is rare.
        settings.heat = .seconds([0, 1, 600].randomElement(using: &generator) ?? 1)
        settings.idle = .milliseconds([1, 100, 5000].randomElement(using: &generator) ?? 1)
        settings.first = [1, 2, 8, 64].randomElement(using: &generator) ?? 8
      }
      let sharing: StoreSharing = isAlone ? .machine : .instances
      ledgers = (0..<count).map { [settings] _ in
        AllowanceLedger(store: ScriptedStore(memory, sharing: sharing), settings: settings)
      }
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    private func settleAll() async { for ledger in ledgers { await ledger.settle() } }

    mutating func step() async throws {
      // Bursts, a steady rate, pauses.
      let per = Double(rate.per) / 1e9
      let interval = per / Double(rate.limit)
      let gaps: [Double] = [
        0, 0, 0, 0, 0.01, interval / 3, interval, Double.random(in: 0...per, using: &generator), per * 1.5,
      ]
      let isPause = chance(4)
      time += gaps[Int.random(in: 0..<(isPause ? gaps.count : 6), using: &generator)]
      let now = Instant.noon(time)
      let ledger = ledgers[Int.random(in: 0..<ledgers.count, using: &generator)]
      let request = try await ledger.request(allowances, at: now)
      if !chance(4) { await ledger.settle() }
      if let grant = request.grant {
        kept.append((now, grant.receipts))
        if chance(6) {
          let place =
            givesBackLate
            ? Int.random(in: max(0, kept.count - 5)..<kept.count, using: &generator) : kept.count - 1
          await ledger.giveBack(kept.remove(at: place).receipts, at: now)
        } else if isAlone, chance(5), let remaining = request.remaining {
          try await use(remaining, of: ledger, at: now)
        }
      } else {
        try await obey(try #require(request.retryAfter), at: ledger)
      }
      if chance(6) {
        for ledger in ledgers where !chance(3) { await ledger.sweep(at: .noon(time)) }
      }
    }

    /// What an instance that is alone says is left, is.
    private mutating func use(_ count: Int64, of ledger: AllowanceLedger, at now: Instant) async throws {
      await ledger.settle()
      for number in 0..<count {
        let request = try await ledger.request(allowances, at: now)
        #expect(request.grant != nil, "\(number) of \(count)")
        if let grant = request.grant { kept.append((now, grant.receipts)) }
        await ledger.settle()
      }
    }

    /// Who waits as told succeeds, if nobody else comes.
    private mutating func obey(_ wait: Int64, at ledger: AllowanceLedger) async throws {
      await settleAll()
      time += Double(wait)
      let request = try await ledger.request(allowances, at: .noon(time))
      #expect(request.grant != nil, "after \(wait)")
      if let grant = request.grant { kept.append((.noon(time), grant.receipts)) }
    }
  }

  @Test(arguments: 0..<600)
  func `no schedule exceeds a rate, and a retry after Retry-After succeeds`(_ seed: Int) async throws {
    var schedule = try Schedule(seed: seed)
    for _ in 0..<250 { try await schedule.step() }
    // Exact counting would have granted each of them.
    let rate = schedule.rate
    let plan = AllowancePlan.rate(
      try RateLimit(limit: rate.limit, per: rate.per, burst: rate.burst + (schedule.givesBackLate ? 1 : 0)))
    var state: AllowanceState?
    for (place, request) in schedule.kept.sorted(by: { $0.at < $1.at }).enumerated() {
      guard case .taken(let next) = plan.take(from: state, at: request.at) else {
        #expect(Bool(false), "request \(place) of \(schedule.kept.count) exceeds \(rate)")
        return
      }
      state = next
    }
  }
}
