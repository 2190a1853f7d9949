// Tests of how rates and quotas are counted in a store.

import Gate
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite struct AllowanceLedgerTests {
  @Test func `each request is one trip to the store, refused or not`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([
      try Allowances.rate(limit: 100, per: 60, key: .global), try Allowances.quota(limit: 5),
    ])
    for number in 0..<8 {
      #expect((try await ledger.request(allowances, at: .noon()).grant != nil) == (number < 5))
    }
    #expect(store.updates == 8 && store.reads == 0)
    // The refused requests took nothing from the rate.
    let charges = allowances.charges(at: .noon())
    let state = try await store.base.states(of: [charges[0].key])[0]
    #expect(charges[0].plan.count(of: state, at: .noon()).remaining == 95)
  }

  @Test func `a quota is never exceeded and is used to the last, by several instances`() async throws {
    let memory = memoryStore()
    let ledgers = (0..<3).map { _ in AllowanceLedger(store: ScriptedStore(memory, sharing: .instances)) }
    let allowances = try Allowances([try Allowances.quota(limit: 100)])
    var granted = 0
    for number in 0..<300 {
      let request = try await ledgers[number % 3].request(allowances, at: .noon(Double(number) / 100))
      guard request.grant != nil else { continue }
      granted += 1
      #expect(request.remaining == Int64(100 - granted))
    }
    #expect(granted == 100)
    // The next day the whole quota is available again.
    for number in 0..<150 {
      if try await ledgers[number % 3].request(allowances, at: .noon(86_400)).grant != nil { granted += 1 }
    }
    #expect(granted == 200)
  }

  @Test(arguments: StoreKind.available)
  func `24 at once at a quota of 24 all pass, by one instance or two, and no more`(_ kind: StoreKind)
    async throws
  {
    let (fixture, first) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let second = fixture.open()
    for (number, stores) in [[first], [first, second]].enumerated() {
      let allowances = try Allowances([
        try Allowances.quota("quota-\(number)", limit: 24, key: .global),
        try Allowances.rate("rate-\(number)", limit: 24, per: 3600, key: .global),
      ])
      let ledgers = stores.map { AllowanceLedger(store: $0) }
      func burst(_ count: Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for number in 0..<count {
            let ledger = ledgers[number % ledgers.count]
            group.addTask { try await ledger.request(allowances, at: .noon()).grant != nil }
          }
          return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
      }
      #expect(try await burst(24) == 24)
      #expect(try await burst(1) == 0)
    }
    await first.close()
    await second.close()
  }

  @Test(arguments: StoreKind.available)
  func `a burst over two instances lets its figure through, and what is given back is free at both`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, first) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let second = fixture.open()
    let ledgers = [first, second].map { AllowanceLedger(store: $0) }
    let allowances = try Allowances([try Allowances.rate(limit: 50, per: 3600, key: .global)])
    func burst() async throws -> [Granted] {
      try await withThrowingTaskGroup(of: Granted?.self) { group in
        for number in 0..<100 {
          group.addTask { try await ledgers[number % 2].request(allowances, at: .noon()).grant }
        }
        return try await group.reduce(into: []) { if let grant = $1 { $0.append(grant) } }
      }
    }
    let granted = try await burst()
    #expect(granted.count == 50)
    // A receipt counts even if other requests have used the quota since.
    for grant in granted.prefix(7) { await ledgers[0].giveBack(grant.receipts, at: .noon()) }
    #expect(try await burst().count == 7)
    await first.close()
    await second.close()
  }

  @Test func `while the store is down a rule denies, and counts on when it is back`() async throws {
    let store = ScriptedStore(sharing: .machine)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota(limit: 2)])
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
    store.setDown(true)
    let denied = try await ledger.request(allowances, at: .noon())
    #expect(denied.decision.denial?.code == .storeUnavailable && denied.retryAfter == 5)
    store.setDown(false)
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
    #expect(try await ledger.request(allowances, at: .noon()).grant == nil)
  }

  @Test func `a rule may allow what cannot be counted`() async throws {
    let store = ScriptedStore(sharing: .machine)
    let ledger = AllowanceLedger(store: store)
    let allowances = try Allowances([try Allowances.quota(limit: 1, onFailure: .allow)])
    store.setDown(true)
    for _ in 0..<3 { #expect(try await ledger.request(allowances, at: .noon()).grant != nil) }
    // Requests that could not be counted are not counted later.
    store.setDown(false)
    #expect(try await ledger.request(allowances, at: .noon()).grant != nil)
    #expect(try await ledger.request(allowances, at: .noon()).grant == nil)
  }

  @Test func `what was used counts where the rule becomes stricter, and a rate in place of a quota limits`()
    async throws
  {
    let ledger = AllowanceLedger(store: ScriptedStore(sharing: .machine))
    let before = try Allowances([try Allowances.quota("r", limit: 1000)])
    for _ in 0..<5 { _ = try await ledger.request(before, at: .noon()) }
    let stricter = try Allowances([try Allowances.quota("r", limit: 5)])
    #expect(try await ledger.request(stricter, at: .noon()).grant == nil)
    let rate = try Allowances([try Allowances.rate("r", limit: 10, per: 60)])
    var granted = 0
    for _ in 0..<100 where try await ledger.request(rate, at: .noon(2)).grant != nil { granted += 1 }
    #expect(granted == 10)
  }
}

@Suite struct LedgerPropertyTests {
  /// A random schedule of requests to several instances, some of which are given back.
  private struct Schedule {
    var generator: SeededGenerator
    let rate: RateLimit
    let allowances: Allowances
    let ledgers: [AllowanceLedger]
    /// Whether the schedule gives back older grants. Several of them, out of order, may free a little less
    /// than one request too many (docs/decisions/0007-rules.md).
    let givesBackLate: Bool
    var time = 0.0
    var kept: [(at: Instant, receipts: [AllowanceReceipt])] = []

    init(seed: Int) throws {
      generator = SeededGenerator(UInt64(seed))
      givesBackLate = seed % 4 == 1
      let limit = Int64([1, 3, 7, 30, 100, 1000].randomElement(using: &generator) ?? 7)
      let spans: [Double] = [1, 7, 60, 600]
      let per = spans.randomElement(using: &generator) ?? 1
      let burst = Bool.random(using: &generator) ? limit : max(1, limit / 3)
      rate = try RateLimit(limit: limit, per: Int64(per * 1e9), burst: burst)
      allowances = try Allowances([try Allowances.rate(limit: limit, per: per, burst: burst)])
      let memory = CountingStore()
      ledgers = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
        AllowanceLedger(store: ScriptedStore(memory, sharing: .instances))
      }
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    private mutating func ask() async throws -> LedgerRequest {
      let now = Instant.noon(time)
      let ledger = ledgers[Int.random(in: 0..<ledgers.count, using: &generator)]
      let request = try await ledger.request(allowances, at: now)
      if let grant = request.grant { kept.append((now, grant.receipts)) }
      return request
    }

    mutating func step() async throws {
      // Bursts, a steady rate, pauses.
      let per = Double(rate.per) / 1e9
      let interval = per / Double(rate.limit)
      let gaps: [Double] = [
        0, 0, 0, 0, 0.01, interval / 3, interval, Double.random(in: 0...per, using: &generator), per * 1.5,
      ]
      let isPause = chance(4)
      time += gaps[Int.random(in: 0..<(isPause ? gaps.count : 6), using: &generator)]
      let request = try await ask()
      if request.grant != nil {
        if chance(6) {
          let place =
            givesBackLate
            ? Int.random(in: max(0, kept.count - 5)..<kept.count, using: &generator) : kept.count - 1
          await ledgers[0].giveBack(kept.remove(at: place).receipts, at: .noon(time))
        } else if chance(5) {
          // The remaining count in a response is right, whichever instance gets the next requests.
          for number in 0..<(try #require(request.remaining)) {
            #expect(try await ask().grant != nil, "\(number) of \(request.remaining ?? 0)")
          }
          #expect(try await ask().grant == nil)
        }
      } else {
        // A client that waits for as long as the refusal says succeeds if no other request comes first.
        let wait = try #require(request.retryAfter)
        time += Double(wait)
        #expect(try await ask().grant != nil, "after \(wait)")
      }
    }
  }

  @Test(arguments: 0..<rounds(40, of: 300))
  func `no schedule exceeds a rate, and a retry after Retry-After succeeds`(_ seed: Int) async throws {
    var schedule = try Schedule(seed: seed)
    for _ in 0..<250 { try await schedule.step() }
    // An exact count would have granted each of these requests.
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
