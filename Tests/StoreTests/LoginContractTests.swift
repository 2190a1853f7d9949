// Tests of remembered logins that every store must pass, and of the schema upgrade that adds them.

import Gate
import StoreSupport
import TestSupport
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

@Suite struct LoginContractTests {
  private static let day: Double = 86_400

  private static func login(
    _ number: Int, credential: UInt16 = 7, last: Instant = .noon(), caller: String = "app"
  ) -> StoredLogin {
    StoredLogin(
      id: StoreID(high: 1, low: UInt64(number)), caller: caller, credential: credential, last: last)
  }

  @Test(arguments: StoreKind.available)
  func `instances share logins, and read those since a time`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.logins(since: .noon(-999)) == [])
    try await store.save([])
    let ends = [Self.login(2, credential: .max, last: .noon(1)), Self.login(1, credential: 0, caller: "b")]
    try await store.save(ends)
    let other = fixture.open()
    #expect(try await other.logins(since: .noon(-999)) == ends)
    #expect(try await other.logins(since: .noon(1)) == [ends[0]])
    #expect(try await other.logins(since: .noon(2)) == [])
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a row is written once a day, and at once for another password`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    func saved(_ login: StoredLogin) async throws -> [StoredLogin] {
      try await store.save([login])
      return try await store.logins(since: .noon(-999))
    }
    let first = Self.login(1)
    #expect(try await saved(first) == [first])
    #expect(try await saved(Self.login(1, last: .noon(Self.day - 1))) == [first])
    #expect(try await saved(Self.login(1, last: .noon(-1))) == [first])
    let next = Self.login(1, last: .noon(Self.day))
    #expect(try await saved(next) == [next])
    let changed = Self.login(1, credential: 8, last: .noon(Self.day + 1))
    #expect(try await saved(changed) == [changed])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of more than 10,000 logins the oldest go`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    // All have the same time, so only their IDs say which are older.
    for start in stride(from: 1, through: 10_000, by: 1000) {
      try await store.save((start..<(start + 1000)).map { Self.login($0) })
    }
    #expect(try await store.logins(since: .noon()).count == 10_000)
    try await store.save([Self.login(10_001, last: .noon(1)), Self.login(10_002, last: .noon(1))])
    let rows = try await store.logins(since: .noon(-999))
    #expect(rows.count == 10_000)
    #expect(rows.map(\.id.low).max() == 10_002 && rows.map(\.id.low).min() == 3)
    // A login older than all of them is not kept.
    try await store.save([Self.login(20_000, last: .noon(-1))])
    #expect(try await store.logins(since: .noon(-999)) == rows)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a login is forgotten after thirty days`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let (old, young) = (Self.login(1), Self.login(2, last: .noon(1)))
    try await store.save([old, young])
    try await store.purge(at: .noon(30 * Self.day - 1))
    #expect(try await store.logins(since: .noon(-999)) == [young, old])
    try await store.purge(at: .noon(30 * Self.day))
    #expect(try await store.logins(since: .noon(-999)) == [young])
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `instances that save the same logins at once do not stop each other`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let others = (0..<4).map { _ in fixture.open() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, other) in others.enumerated() {
        group.addTask {
          for round in 0..<10 {
            try await other.save(
              (0..<50).shuffled().map {
                Self.login($0, credential: UInt16(number), last: .noon(Double(10 * round + number)))
              })
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.logins(since: .noon()).count == 50)
    for other in others { await other.close() }
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `a store of the release before gets the table`(_ kind: StoreKind) async throws {
    let before = 17
    let store: any Store
    let place = try TemporaryPlace()
    defer { place.end() }
    switch kind {
    case .postgres: store = PostgresStore(try OldStore.postgres(version: before).address)
    case .sqlite, .memory:
      try OldStore.sqlite(place.path + "/state.sqlite3", version: before)
      store = SQLiteStore(path: place.path + "/state.sqlite3")
    }
    try await store.migrate()
    try await store.save([Self.login(1)])
    #expect(try await store.logins(since: .noon()) == [Self.login(1)])
    await store.close()
  }
}
