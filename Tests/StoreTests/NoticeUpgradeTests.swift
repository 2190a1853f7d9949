// Tests of the upgrade to the schema version with notifications about callbacks.

import Gate
import JOSE
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

/// A store of the previous release, with a pending callback, a live claim and an ended one.
@Suite struct NoticeUpgradeTests {
  private static let before = 8
  private static let pending = CallbackID(at: .noon())
  private static let (live, over) = (StoredClaim.numbered(1), StoredClaim.numbered(2))

  /// Rows of the previous release. The databases differ in how they write bytes and IDs.
  private static func rows(_ id: (StoreID) -> String, _ bytes: ([UInt8]) -> String) -> [String] {
    let time = Instant.noon().nanosecondsSinceEpoch
    let claims = [(live, "live"), (over, "redeemed")].map { claim, state in
      """
      INSERT INTO callgate_claim (id, installation, app, created, expires, receipts, state) VALUES (
        \(bytes(claim.id.bytes)), \(id(claim.installation.id.id)), 'shop', \(time), \(time + 60_000_000_000),
        \(bytes(claim.receipts)), '\(state)')
      """
    }
    return [
      """
      INSERT INTO callgate_callback (id, caller, contact, created, status, instance, abandoned, expires)
        VALUES (\(id(pending.id)), 'ios-app', '+*********66', \(time), 'pending', 1, \(time + 30_000_000_000),
        \(time + 9_000_000_000_000))
      """
    ] + claims
  }

  private func check(_ store: any Store) async throws {
    let error = await #expect(throws: StoreError.self) { try await store.ping() }
    #expect(error?.kind == .incompatible)
    try await store.migrate()
    try await store.putInstallation(1)
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
    try OldStore.sqlite(
      path, version: Self.before,
      rows: Self.rows({ "x'\(Hex.encode($0.bytes))'" }, { "x'\(Hex.encode($0))'" }))
    try await check(SQLiteStore(path: path))
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
  func `a database keeps its claims and callbacks`() async throws {
    let (_, address) = try OldStore.postgres(
      version: Self.before, rows: Self.rows({ "'\($0.hex)'" }, { "'\\x\(Hex.encode($0))'" }))
    try await check(PostgresStore(address))
  }
}
