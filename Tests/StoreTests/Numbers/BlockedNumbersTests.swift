// Tests of how blocks of numbers reach every instance, and of their limit.

import Gate
import Platform
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore
@testable import Store

@Suite(.timeLimit(.minutes(5))) struct BlockedNumbersTests {
  private let number = try! E164("+14155550123")
  private let other = try! E164("+14155550124")
  private let operatorName = Operator.Identity("ann", by: .token)

  private func instance(_ store: any Store, _ clock: ManualTime, like first: BlockedNumbers? = nil)
    async throws
    -> BlockedNumbers
  {
    let key = NumberKey(store: store, keys: nil)
    try await key.load()
    let numbers = BlockedNumbers(store: store, key: key, clock: clock)
    try await numbers.refresh()
    return numbers
  }

  @Test func `a block and its end apply here at once and elsewhere a second later`() async throws {
    let memory = memoryStore()
    let clock = ManualTime()
    let here = try await instance(memory, clock)
    let elsewhere = try await instance(memory, clock)
    let upkeep = Upkeep(
      store: memory, board: StopBoard(store: memory, clock: clock), blocked: elsewhere, clock: clock)
    let task = Task { await upkeep.run() }
    try await clock.untilSleepers(3)
    #expect(try await here.block(number, reason: nil, until: nil, by: operatorName))
    #expect(here.contain(number) && !here.contain(other) && !here.contain(nil))
    #expect(!elsewhere.contain(number))
    clock.advance(by: .seconds(1))
    try await clock.untilSleepers(3)
    #expect(elsewhere.contain(number) && elsewhere.count == 1)
    try await here.unblock(number)
    #expect(!here.contain(number))
    clock.advance(by: .seconds(1))
    try await clock.untilSleepers(3)
    #expect(!elsewhere.contain(number) && elsewhere.count == 0)
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a block ends automatically at its time, and not before`() async throws {
    let clock = ManualTime()
    let numbers = try await instance(memoryStore(), clock)
    let end = Instant(clock.unixTime).advanced(by: .seconds(60))
    #expect(try await numbers.block(number, reason: nil, until: end, by: operatorName))
    clock.advance(by: .milliseconds(59_999))
    #expect(numbers.contain(number) && numbers.count == 1)
    clock.advance(by: .milliseconds(1))
    #expect(!numbers.contain(number) && numbers.count == 0)
  }

  @Test func `the last known blocks hold while the store fails`() async throws {
    let memory = memoryStore()
    let clock = ManualTime()
    let store = ScriptedStore(memory, sharing: .instances)
    let numbers = try await instance(store, clock)
    #expect(try await numbers.block(number, reason: nil, until: nil, by: operatorName))
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await numbers.refresh() }
    await #expect(throws: StoreError.self) { try await numbers.unblock(number) }
    await #expect(throws: StoreError.self) {
      _ = try await numbers.block(other, reason: nil, until: nil, by: operatorName)
    }
    #expect(numbers.contain(number) && !numbers.contain(other))
  }

  @Test func `an instance that was away while a block was ended and forgotten learns of it`() async throws {
    let memory = memoryStore()
    let clock = ManualTime()
    let (here, elsewhere) = (try await instance(memory, clock), try await instance(memory, clock))
    #expect(try await here.block(number, reason: nil, until: nil, by: operatorName))
    try await elsewhere.refresh()
    #expect(elsewhere.contain(number))
    try await here.unblock(number)
    clock.advance(by: .seconds(61))
    try await memory.purge(at: Instant(clock.unixTime))
    try await elsewhere.refresh()
    #expect(!elsewhere.contain(number))
  }

  @Test
  func `the 100,001st number is refused, a blocked one can be blocked again, and an ended one makes room`()
    async throws
  {
    let store = memoryStore()
    let clock = ManualTime()
    let now = Instant(clock.unixTime)
    let numbers = try await instance(store, clock)
    func row(_ id: UInt64, until: Instant? = nil) -> BlockedNumber {
      BlockedNumber(
        id: StoreID(high: 7, low: id), mask: "+*********00", reason: nil, since: now, until: until,
        by: operatorName)
    }
    #expect(try await store.block(row(0, until: now.advanced(by: .seconds(60)))))
    try await fillBlocks(of: store, with: 99_998, since: now)
    #expect(try await store.block(row(1)))
    #expect(try await numbers.block(number, reason: nil, until: nil, by: operatorName) == false)
    #expect(!numbers.contain(number) && numbers.count == 100_000)
    #expect(try await store.block(row(1)), "again")
    clock.advance(by: .seconds(60))
    #expect(try await numbers.block(number, reason: nil, until: nil, by: operatorName))
    #expect(numbers.contain(number) && numbers.count == 100_000)
  }

  /// Writes many blocks in one statement, where only their number matters.
  private func fillBlocks(of store: any Store, with count: Int, since now: Instant) async throws {
    let queued = try #require(store as? QueuedStore<SQLiteSession>)
    let fill = Change(
      "fill_blocks",
      """
      INSERT INTO callgate_blocked_number (id, mask, since, serial)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
      SELECT randomblob(16), '+*********00', $2, i FROM n
      """)
    let serial = Change(
      "fill_serial", "UPDATE callgate_meta SET value = '1000000' WHERE name = 'blocked numbers'")
    _ = try await queued.sessions.call(.writes) { session throws(StoreError) in
      try session.change([ChangeCall(fill, .integer(Int64(count)), .time(now)), ChangeCall(serial)])
    }
  }
}
