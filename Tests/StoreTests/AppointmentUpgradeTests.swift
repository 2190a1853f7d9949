// Tests of the upgrade to the schema version with appointments.

import Gate
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

/// A store of the previous release, with a settled and a pending callback.
@Suite struct AppointmentUpgradeTests {
  private static let before = 6
  private static let (settled, pending) = (CallbackID(at: .noon()), CallbackID(at: .noon(1)))

  /// Rows of the previous release. The databases differ in how they write an ID.
  private static func rows(_ literal: (StoreID) -> String) -> [String] {
    let (first, second) = (literal(settled.id), literal(pending.id))
    let time = Instant.noon().nanosecondsSinceEpoch
    let second30 = Int64(30_000_000_000)
    return [
      """
      INSERT INTO callgate_callback (id, caller, subject, contact, created, settled, status, upstream_status, instance,
        abandoned, expires) VALUES (\(first), 'ios-app', 'user', '+*********65', \(time), \(time + 5), 'accepted', 200,
        1, \(time + second30), \(time + 9_000_000_000_000))
      """,
      """
      INSERT INTO callgate_callback (id, caller, contact, created, status, instance, abandoned, expires)
        VALUES (\(second), 'ios-app', '+*********66', \(time), 'pending', 1, \(time + second30),
        \(time + 9_000_000_000_000))
      """,
    ]
  }

  private func check(_ store: any Store) async throws {
    let error = await #expect(throws: StoreError.self) { try await store.ping() }
    #expect(error?.kind == .incompatible)
    try await store.migrate()
    let record = try #require(try await store.callback(Self.settled, of: "ios-app"))
    #expect(record.status == .accepted && record.subject == "user" && record.at == nil)
    #expect(record.contact == "+*********65" && record.upstreamStatus == 200)
    #expect(try await store.appointmentCounts(dueBefore: .noon()) == AppointmentCounts())
    #expect(try await store.dueAppointments(at: .noon(9_999_999), most: 9).isEmpty)
    // The pending callback of the earlier process is recovered, and its record expires when it would have
    // anyway.
    #expect(try await store.recoverCallbacks(at: .noon(60)).callbacks == 1)
    #expect(try await store.callback(Self.pending, of: "ios-app")?.status == .unknown)
    try await store.purge(at: .noon(8999))
    #expect(try await store.callback(Self.pending, of: "ios-app") != nil)
    #expect(try await store.book(.made(), at: .noon(61)) == .booked)
    try await store.purge(at: .noon(9000))
    #expect(try await store.callback(Self.pending, of: "ios-app") == nil)
    await store.close()
  }

  @Test func `a file keeps its callbacks`() async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    try OldStore.sqlite(
      path, version: Self.before, rows: Self.rows { "x'\($0.hex.replacing("-", with: ""))'" })
    try await check(SQLiteStore(path: path))
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
  func `a database keeps its callbacks`() async throws {
    let (_, address) = try OldStore.postgres(
      version: Self.before, rows: Self.rows { "'\($0.hex)'" })
    try await check(PostgresStore(address))
  }
}
