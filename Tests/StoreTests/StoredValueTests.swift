// Tests that settings of a database change no value, and that a value that cannot be read is an error.

import DatabaseURL
import Gate
import JOSE
import Sealing
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

@Suite struct StoredValueTests {
  @Test(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
  func `settings of the database make no difference`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let name = String(address.text.split(separator: "/").last ?? "")
    for setting in [
      "bytea_output = 'escape'", "array_nulls = off", "standard_conforming_strings = off",
      "client_encoding = 'LATIN1'", "transform_null_equals = on", "exit_on_error = on", "DateStyle = 'SQL'",
    ] {
      _ = try server.query(name, "ALTER DATABASE \(name) SET \(setting)")
    }
    let store = PostgresStore(address)
    try await store.migrate()
    let booking = Booking.made(key: "k", subject: "é \\ 🦊", code: [0, 92, 255], content: [0, 92, 255, 39])
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let booked = try #require(try await store.scheduledAppointment(booking.id))
    #expect(booked.content == booking.content)
    #expect(
      try await store.move(.made(for: 7200, moving: booking.id, subject: "é \\ 🦊"), at: .noon()).moved != nil)
    let moved = try #require(try await store.scheduledAppointment(booking.id))
    #expect(moved.content == booking.content && moved.record.subject == "é \\ 🦊")
    let mark = StoreKeyMark(id: try #require(StoreKeyID([1, 92, 200, 4])), check: [92, 0, 255])
    _ = try await store.updateKeys(at: .noon()) { _ in .usable(KeyChanges(added: mark)) }
    #expect(try await store.keys().map(\.mark) == [mark])
    await store.close()
  }

  /// A statement that damages a store, and a read that must fail.
  private struct Damage: Sendable {
    let sql: String
    let read: @Sendable (any Store, Booking) async throws -> Void

    init(_ sql: String, _ read: @escaping @Sendable (any Store, Booking) async throws -> Void) {
      self.sql = sql
      self.read = read
    }
  }

  private static let oddStatus = "UPDATE callgate_callback SET status = 'odd'"
  private static let damages: [Damage] = [
    Damage(oddStatus) { store, booking in _ = try await store.callback(booking.id, of: "ios-app") },
    Damage(oddStatus) { store, _ in _ = try await store.callbacks(CallbackQuery(status: nil, limit: 9)) },
    Damage(oddStatus) { store, booking in _ = try await store.standing(of: booking.intent, at: .noon()) },
    Damage(oddStatus) { store, _ in _ = try await store.dueAppointments(at: .noon(9999), most: 9) },
    Damage("UPDATE callgate_callback SET notice_state = 'odd'") { store, booking in
      _ = try await store.callback(booking.id, of: "ios-app")
    },
    Damage("UPDATE callgate_installation SET secret = 'x'") { store, _ in
      _ = try await store.installation(.numbered(1))
    },
    Damage("INSERT INTO callgate_store_key VALUES ('x', 'x', 1)") { store, _ in _ = try await store.keys() },
  ]

  @Test(arguments: StoreKind.lasting, damages.indices)
  func `a value that cannot be read is an error, and nothing is written back without it`(
    _ kind: StoreKind, _ index: Int
  ) async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    let address = kind == .postgres ? try PostgresServer.shared.get().database() : nil
    let store: any Store = address.map { PostgresStore($0) } ?? SQLiteStore(path: path)
    try await store.migrate()
    let booking = Booking.made(key: "k")
    #expect(try await store.book(booking, at: .noon()) == .booked)
    try await store.putInstallation(1)
    let (sql, read) = (Self.damages[index].sql, Self.damages[index].read)
    if let address {
      _ = try PostgresServer.shared.get().query(String(address.text.split(separator: "/").last ?? ""), sql)
    } else {
      try SQLiteConnection(path: path).execute(sql.replacing("'x'", with: "x'78'"))
    }
    #expect(await failure({ try await read(store, booking) }) == .damaged)
    await store.close()
  }

  @Test(arguments: [Int64.min, .min + 1, -1_000_000_000, -1, 0, .max])
  func `a row may have any time`(_ written: Int64) {
    #expect(Instant(nanosecondsSinceEpoch: written).nanosecondsSinceEpoch == written)
  }

  @Test(arguments: [("9223372036854775807", 2_147_483_647), ("-9223372036854775808", 0)])
  func `a count that no server writes is read as the nearest that one does`(_ written: String, _ read: Int)
    async throws
  {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let booking = Booking.made(key: "k")
    #expect(try await store.book(booking, at: .noon()) == .booked)
    try SQLiteConnection(path: path).execute("UPDATE callgate_callback SET tries = \(written)")
    #expect(try await store.dueAppointments(at: .noon(99_999), most: 9).map(\.tries) == [read])
    await store.close()
  }

  private func failure(_ body: () async throws -> Void) async -> StoreError.Kind? {
    await StoreTests.kind(body)
  }
}
