// Tests of blocked numbers that every store must pass.

import Gate
import StoreSupport
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(5))) struct BlockedNumberContractTests {
  private static func number(
    _ id: UInt64, _ mask: String = "+*********23", reason: String? = nil, since: Instant = .noon(),
    until: Instant? = nil, by: Operator.Identity? = .init("ann", by: .token)
  ) -> BlockedNumber {
    BlockedNumber(
      id: StoreID(high: 1, low: id), mask: mask, reason: reason, since: since, until: until, by: by)
  }

  private func list(_ store: any Store, before serial: Int64? = nil, most: Int = 9, at now: Instant = .noon())
    async throws -> [BlockedNumber]
  {
    try await store.blockedNumbers(before: serial, most: most, at: now)
  }

  @Test(arguments: StoreKind.available)
  func `instances share blocks, the newest first, page by page`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await list(store) == [])
    let blocked = [
      Self.number(1, reason: "she complained"), Self.number(2, until: .noon(60), by: nil), Self.number(3),
    ]
    for number in blocked { #expect(try await store.block(number)) }
    let other = fixture.open()
    let found = try await list(other)
    #expect(found.map(\.id.low) == [3, 2, 1])
    #expect(found.map(\.serial) == found.map(\.serial).sorted(by: >))
    for (row, number) in zip(found.reversed(), blocked) {
      var number = number
      number.serial = row.serial
      #expect(row == number)
    }
    #expect(try await list(other, before: found[1].serial).map(\.id.low) == [1])
    #expect(try await list(other, most: 2).map(\.id.low) == [3, 2])
    #expect(try await list(other, at: .noon(60)).map(\.id.low) == [3, 1])
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `blocking again replaces reason, end, time and operator`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.block(Self.number(1, reason: "a", until: .noon(9))))
    #expect(try await store.block(Self.number(2)))
    var again = Self.number(1, since: .noon(5), by: .init("bob", by: .jwt))
    #expect(try await store.block(again))
    let found = try await list(store)
    again.serial = found[0].serial
    #expect(found.map(\.id.low) == [1, 2])
    #expect(found[0] == again)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `changes are read after one, and an unblocked number is among them`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.blockChanges(after: 0, most: 9) == [])
    for id in 1...3 { #expect(try await store.block(Self.number(UInt64(id)))) }
    let first = try await store.blockChanges(after: 0, most: 2)
    #expect(first.map(\.id.low) == [1, 2] && first.map(\.until) == [nil, nil])
    let last = try #require(try await store.blockChanges(after: first[1].serial, most: 2).last)
    #expect(last.id.low == 3)
    try await store.unblock(StoreID(high: 1, low: 2), at: .noon(1))
    // Not blocked: no row is made.
    try await store.unblock(StoreID(high: 1, low: 9), at: .noon(1))
    try await store.unblock(StoreID(high: 1, low: 2), at: .noon(2))
    let changes = try await store.blockChanges(after: last.serial, most: 9)
    #expect(changes.map(\.id.low) == [2] && changes.map(\.until) == [.noon(1)])
    #expect(try await list(store, at: .noon(1)).map(\.id.low) == [3, 1])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a change after a purge has a greater serial than every one before it`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.block(Self.number(1)))
    try await store.unblock(StoreID(high: 1, low: 1), at: .noon())
    let last = try #require(try await store.blockChanges(after: 0, most: 9).last).serial
    try await store.purge(at: .noon(59))
    #expect(try await store.blockChanges(after: 0, most: 9).count == 1, "for instances that are behind")
    try await store.purge(at: .noon(60))
    #expect(try await store.blockChanges(after: 0, most: 9) == [])
    #expect(try await store.block(Self.number(2)))
    #expect(try await store.blockChanges(after: last, most: 9).map(\.id.low) == [2])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `unblocking forgets how the number was screened`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let id = StoreID(high: 1, low: 1)
    try await store.save(ScreeningVerdict(id: id, settings: 7, refusal: nil, ends: .noon(900)))
    try await store.unblock(id, at: .noon())
    #expect(try await store.verdict(id) == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `blocks of many instances at once all count, and each has a serial of its own`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for id in 1...20 {
        group.addTask { try await (id % 2 == 0 ? store : other).block(Self.number(UInt64(id))) }
      }
      for try await isBlocked in group { #expect(isBlocked) }
    }
    let changes = try await store.blockChanges(after: 0, most: 99)
    #expect(Set(changes.map(\.id.low)) == Set(1...20) && Set(changes.map(\.serial)).count == 20)
    await other.close()
    await store.close()
  }
}
