// Tests of the step that brings a store to the version with notices of callbacks.

import Gate
import JOSE
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

/// A store as the release before left it, with a callback that is pending, a claim that is live and one that is over.
@Suite struct NoticeUpgradeTests {
  private static let before = 8
  private static let key = StoreID(high: 1, low: 2)
  private static let pending = CallbackID(at: .noon())
  private static let (live, over) = (StoredClaim.numbered(1), StoredClaim.numbered(2))

  /// The rows of the release before; the dialects differ in how they write bytes and ids.
  private static func rows(_ id: (StoreID) -> String, _ bytes: ([UInt8]) -> String) -> [String] {
    let time = Instant.noon().nanosecondsSinceEpoch
    let claims = [(live, "live"), (over, "redeemed")].map { claim, state in
      """
      INSERT INTO callgate_claim (id, installation, app, created, expires, receipts, state) VALUES (
        \(bytes(claim.id.bytes)), \(id(claim.installation.id)), 'shop', \(time), \(time + 60_000_000_000),
        \(bytes(claim.receipts)), '\(state)')
      """
    }
    return (1...before).map { "INSERT INTO callgate_schema (version, applied) VALUES (\($0), 7)" } + [
      "INSERT INTO callgate_meta (name, value) VALUES ('hash_key', '\(key.hex)')",
      """
      INSERT INTO callgate_callback (id, caller, contact, created, status, instance, abandoned, expires)
        VALUES (\(id(pending.id)), 'ios-app', '+*********66', \(time), 'pending', 1, \(time + 30_000_000_000),
        \(time + 9_000_000_000_000))
      """,
    ] + claims
  }

  private func check(_ store: any Store) async throws {
    let error = await #expect(throws: StoreError.self) { try await store.ping() }
    #expect(error?.kind == .incompatible)
    try await store.migrate()
    #expect(try await store.claim(Self.live.id) == .live(Self.live))
    #expect(try await store.claim(Self.over.id) == .over(Self.over.over))
    // Its app never asked for notices.
    #expect(try await store.recoverCallbacks(at: .noon(60)).callbacks == 1)
    let record = try #require(try await store.callback(Self.pending, of: "ios-app"))
    #expect(record.status == .unknown && record.notices == nil && !record.waitsToBeTold)
    let always = Instant.noon(-9999)...Instant.noon(9999)
    let due = try await store.dueNotices(on: "http", questions: always, news: always, most: 9)
    #expect(due.isEmpty)
    await store.close()
  }

  @Test func `a file keeps its claims and callbacks`() async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    do {
      let connection = try SQLiteConnection(path: path)
      try connection.execute(
        "CREATE TABLE callgate_schema (version INTEGER PRIMARY KEY NOT NULL, applied INTEGER NOT NULL) STRICT"
      )
      for step in Migration.all.prefix(Self.before) {
        for statement in step.sqlite { try connection.execute(statement) }
      }
      for statement in Self.rows({ "x'\(Hex.encode($0.bytes))'" }, { "x'\(Hex.encode($0))'" }) {
        try connection.execute(statement)
      }
    }
    try await check(SQLiteStore(path: path))
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
  func `a database keeps its claims and callbacks`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    _ = try server.query(
      name,
      (["CREATE TABLE callgate_schema (version bigint PRIMARY KEY, applied bigint NOT NULL)"]
        + Migration.all.prefix(Self.before).flatMap(\.postgres)
        + Self.rows({ "'\($0.hex)'" }, { "'\\x\(Hex.encode($0))'" })).joined(separator: ";"))
    try await check(PostgresStore(address))
  }
}
