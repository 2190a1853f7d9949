// Tests of verdicts on numbers that every store must pass.

import Gate
import StoreSupport
import TestSupport
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

@Suite struct ScreeningContractTests {
  private static func verdict(_ number: Int, refusal: String? = nil, ends: Instant = .noon(60))
    -> ScreeningVerdict
  {
    ScreeningVerdict(
      id: StoreID(high: 3, low: UInt64(number)), settings: .min, refusal: refusal, ends: ends)
  }

  /// Saves a verdict in a store that keeps at most three.
  private static func save(_ verdict: ScreeningVerdict, in store: any Store) async throws {
    if let store = store as? QueuedStore<SQLiteSession> {
      try await store.save(verdict, most: 3)
    } else {
      try await (store as? QueuedStore<PostgresSession>)?.save(verdict, most: 3)
    }
  }

  @Test(arguments: StoreKind.available)
  func `instances share verdicts, and the last one counts until the number is unblocked`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    let first = Self.verdict(1)
    #expect(try await other.verdict(first.id) == nil)
    try await store.save(first)
    #expect(try await other.verdict(first.id) == first)
    let second = Self.verdict(1, refusal: "do_not_call.lists", ends: .noon(90))
    try await other.save(second)
    #expect(try await store.verdict(first.id) == second)
    try await store.unblock(first.id, at: .noon())
    #expect(try await other.verdict(first.id) == nil)
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the oldest verdicts make room for new ones, and those that ended are purged`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for number in 1...3 { try await Self.save(Self.verdict(number, ends: .noon(Double(number))), in: store) }
    // Saved again, the first becomes the newest.
    try await Self.save(Self.verdict(1, ends: .noon(9)), in: store)
    try await Self.save(Self.verdict(4, ends: .noon(9)), in: store)
    var left: [Bool] = []
    for number in 1...4 { left.append(try await store.verdict(Self.verdict(number).id) != nil) }
    #expect(left == [true, false, true, true])
    try await store.purge(at: .noon(3))
    #expect(try await store.verdict(Self.verdict(3).id) == nil)
    #expect(try await store.verdict(Self.verdict(4).id) != nil)
    await store.close()
  }
}
