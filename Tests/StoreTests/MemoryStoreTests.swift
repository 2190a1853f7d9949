// Tests of the store in memory: its size, its cleanup, and what a failure leaves.

import CSQLite
import Gate
import Platform
import Testing

@testable import SQLiteStore
@testable import Store

@Suite struct MemoryStoreTests {
  /// Size of a store's database, in bytes.
  private func bytes(_ store: SQLiteStore) async throws -> Int {
    try await store.sessions.call(.reads) { session throws(StoreError) in
      try session.inspecting { connection throws(StoreError) in
        var bytes = 1
        for name in ["page_count", "page_size"] {
          try SQLiteStatement(connection, "PRAGMA \(name)").run { bytes *= Int($0.integer(0)) }
        }
        return bytes
      }
    }
  }

  @Test func `100,000 keys cost at most 15 MB and their memory comes back`() async throws {
    let store = SQLiteStore.inMemory()
    let rate = try RateLimit(limit: 30, per: 60_000_000_000, burst: 10)
    let plan = AllowancePlan.rate(rate)
    let now = Instant.noon()
    guard case .taken(let state) = plan.take(from: nil, at: now) else { return #expect(Bool(false)) }
    let empty = try await bytes(store)
    for first in stride(from: 0, to: 100_000, by: 1000) {
      let keys = (first..<first + 1000).map {
        AllowanceKey(rule: "per-address", party: .address(IPAddress(v4: UInt32($0))))
      }
      try await store.update(keys, at: .noon()) { states, _ in
        AllowanceUpdate(writes: states.map { _ in .put(state, expiry: plan.expiry(of: state)) }, result: ())
      }
    }
    let full = try await bytes(store)
    #expect((1_000_000...15_000_000).contains(full - empty), "\(full - empty)")
    #expect(try await store.purge(at: .noon(1)) == 0)
    #expect(try await store.purge(at: .noon(1200)) == 100_000)
    #expect(try await bytes(store) < empty + 100_000)
  }

  @Test func `after the clock went back, what was used later refuses nothing once it is forgotten`()
    async throws
  {
    let ledger = AllowanceLedger(store: SQLiteStore.inMemory())
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

  @Test func `two stores in one process share nothing`() async throws {
    let (first, second) = (SQLiteStore.inMemory(), SQLiteStore.inMemory())
    let intent = CallbackIntent.made(key: "k")
    #expect(try await first.begin(intent, at: .noon()) == .begun)
    #expect(try await second.callback(intent.id, of: intent.callerID) == nil)
    #expect(try await second.begin(intent, at: .noon()) == .begun)
  }

  @Test func `a store that breaks stays unavailable, so that nothing rings twice`() async throws {
    let store = SQLiteStore.inMemory()
    let intent = CallbackIntent.made(key: "k")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    await #expect(throws: StoreError.self) {
      try await store.sessions.call(.reads) { session throws(StoreError) in
        try session.use { open throws(StoreError) in throw open.connection.error("read", SQLITE_NOMEM) }
      }
    }
    for _ in 0..<3 {
      let error = await #expect(throws: StoreError.self) { try await store.begin(intent, at: .noon()) }
      #expect(error?.kind == .unavailable)
      #expect(error.map { "\($0)" }?.contains("restart the server") == true)
    }
    await #expect(throws: StoreError.self) { try await store.migrate() }
  }

  @Test func `a transaction that fails leaves nothing, and the next one works`() async throws {
    let store = SQLiteStore.inMemory()
    let stop = Stop(.all, .all, since: 5)
    await #expect(throws: StoreError.self) {
      try await store.sessions.call(.writes) { session throws(StoreError) in
        try session.transaction { open throws(StoreError) in
          try open.connection.execute("DELETE FROM callgate_schema")
          throw StoreError(.rejected, "test", "rejected")
        }
      }
    }
    try await store.stop(stop)
    #expect(try await store.stops().list == [stop])
    #expect(try await store.inspect() == Migration.latest)
  }
}
