// Tests of rows that instances of the first release write, before an upgrade and beside this release.

import Gate
import Synchronization
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

@Suite struct FormerReleaseTests {
  /// A store with the first release's schema and some rows, upgraded to this release.
  private static func upgraded(
    _ kind: StoreKind, at path: String, rows: [String], later: [String] = []
  ) async throws -> any Store {
    let store: any Store
    switch kind {
    case .postgres:
      let (name, address) = try OldStore.postgres(version: 3, rows: rows)
      store = PostgresStore(address)
      try await store.migrate()
      for sql in later { _ = try PostgresServer.shared.get().query(name, sql) }
    default:
      try OldStore.sqlite(path, version: 3, rows: rows)
      store = SQLiteStore(path: path)
      try await store.migrate()
      for sql in later { try SQLiteConnection(path: path).execute(sql) }
    }
    return store
  }

  /// Every column, index and other element in the schema of a file.
  private static func schema(_ connection: SQLiteConnection) throws -> [String] {
    var schema: [String] = []
    try SQLiteStatement(
      connection,
      """
      SELECT found.name || '|' || found.wr || '|' || found.strict || '|' || part.cid || '|' || part.name || '|' || part.type
        || '|' || part."notnull" || '|' || part.pk
      FROM pragma_table_list AS found, pragma_table_xinfo(found.name) AS part WHERE found.name LIKE 'callgate%'
      UNION ALL SELECT sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL
      """
    ).run { schema.append($0.text(0)) }
    return schema.sorted()
  }

  @Test func `a new file is one that has had every step`() throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    try OldStore.sqlite(place.path + "/steps.sqlite3", version: Migration.latest)
    let steps = try Self.schema(try SQLiteConnection(path: place.path + "/steps.sqlite3"))
    let new = try SQLiteConnection()
    try SQLiteSession.create(new)
    #expect(try Self.schema(new) == steps)
    #expect(steps.contains { $0.hasPrefix("callgate_stop|1|1|7|operator_by|TEXT|0|0") })
  }

  @Test func `an upgrade of a file that was ended between its parts is completed by the next one`()
    async throws
  {
    let place = try TemporaryPlace()
    defer { place.end() }
    func count(_ path: String, _ sql: String) throws -> Int64 {
      var found: Int64 = 0
      try SQLiteStatement(try SQLiteConnection(path: path), sql).run { found = $0.integer(0) }
      return found
    }
    let new = SQLiteStore(path: place.path + "/new.sqlite3")
    try await new.migrate()
    await new.close()
    let path = place.path + "/state.sqlite3"
    try OldStore.sqlite(path, version: 3)
    let session = SQLiteSession(path: path, vfs: nil)
    let said = Mutex<[String]>([])
    let wait = MigrationWait(nil) { words in said.withLock { $0.append(words) } }
    // Three steps of the upgrade: the changes, and two of the indexes.
    for _ in 0..<3 { #expect(try !session.migrate(wait)) }
    session.close()
    #expect(try count(path, "SELECT max(version) FROM callgate_schema") == 3)
    let store = SQLiteStore(path: path)
    try await store.migrate(wait)
    try await store.ping()
    await store.close()
    // Each index is announced before it is built, and built once.
    #expect(
      said.withLock { $0 }
        == SchemaUpgrade(from: 3, prepared: 0, \.sqlite).indexes.map {
          "the upgrade of the schema builds the index \($0.name)"
        })
    #expect(try count(path, "SELECT max(version) FROM callgate_schema") == Int64(Migration.latest))
    #expect(
      try Self.schema(try SQLiteConnection(path: path))
        == Self.schema(try SQLiteConnection(path: place.path + "/new.sqlite3")))
    #expect(try count(path, "SELECT count(*) FROM callgate_meta WHERE name = 'upgrade'") == 0)
  }

  private static func literal(_ id: StoreID, _ kind: StoreKind) -> String {
    kind == .postgres ? "'\(id.hex)'" : "x'\(id.hex)'"
  }

  @Test(arguments: StoreKind.lasting)
  func `a user's call of the first release is a duplicate for that user until its window ends`(
    _ kind: StoreKind
  ) async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let first = CallbackIntent.made(caller: "app-users", subject: "ann")
    // The first release made the entry from caller and number alone, as this one does for a caller without
    // users.
    let entry = try #require(
      StoreIDMaker(key: OldStore.key).names(of: .made(caller: "app-users")).place)
    let (now, end) = (Instant.noon().nanosecondsSinceEpoch, Instant.noon(60).nanosecondsSinceEpoch)
    let store = try await Self.upgraded(
      kind, at: place.path + "/state.sqlite3",
      rows: [
        """
        INSERT INTO callgate_callback (id, caller, subject, contact, created, settled, status, place, instance, abandoned, expires)
        VALUES (\(Self.literal(first.id.id, kind)), 'app-users', 'ann', '+*********65', \(now), \(now), 'accepted',
          \(Self.literal(entry, kind)), 1, \(now), \(end * 2))
        """,
        """
        INSERT INTO callgate_callback_place (id, callback, expires)
        VALUES (\(Self.literal(entry, kind)), \(Self.literal(first.id.id, kind)), \(end))
        """,
      ])
    let again = CallbackIntent.made(caller: "app-users", key: "k", subject: "ann")
    #expect(try await store.standing(of: again, at: .noon(59)).duplicate == first.id)
    #expect(try await store.begin(again, at: .noon(59)) == .duplicate(first.id))
    // The entry does not stop other users or numbers, and it expires.
    #expect(try await store.begin(.made(caller: "app-users", subject: "bob"), at: .noon(59)) == .begun)
    #expect(
      try await store.begin(.made("+14155550199", caller: "app-users", subject: "ann"), at: .noon(59))
        == .begun)
    #expect(try await store.standing(of: again, at: .noon(60)).duplicate == nil)
    #expect(try await store.begin(again, at: .noon(60)) == .begun)
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `the sealed content of an appointment that an instance of an older release has ended is wiped`(
    _ kind: StoreKind
  ) async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    let store = try await Self.upgraded(kind, at: path, rows: [])
    let (ended, waiting) = (Booking.made(), Booking.made("+14155550177"))
    for booking in [ended, waiting] { #expect(try await store.book(booking, at: .noon()) == .booked) }
    let sql = """
      UPDATE callgate_callback SET status = 'unknown', code = 'interrupted', settled = \(Instant.noon(10).nanosecondsSinceEpoch)
      WHERE id = \(Self.literal(ended.id.id, kind))
      """
    if kind == .postgres, let store = store as? PostgresStore {
      _ = try await store.sessions.call(.writes) { session throws(StoreError) in
        try session.read(.plain(sql)) { _ in }
      }
    } else {
      try SQLiteConnection(path: path).execute(sql)
    }
    // The latest time for the call has passed, and so has the grace period.
    try await store.purge(at: .noon(4000))
    #expect(try await store.callback(ended.id, of: "ios-app")?.status == .unknown)
    #expect(try await Self.contents(store, path) == 1)
    #expect(try await store.scheduledAppointment(waiting.id)?.content == waiting.content)
    await store.close()
  }

  /// Number of rows with sealed content.
  private static func contents(_ store: any Store, _ path: String) async throws -> Int {
    let sql = "SELECT count(*) FROM callgate_callback WHERE content IS NOT NULL"
    if let store = store as? PostgresStore {
      return try await store.sessions.call(.reads) { session throws(StoreError) in
        try session.read(.plain(sql)) { rows throws(PostgresFailure) in Int(try rows[0].integer(0)) }
      }
    }
    var count = 0
    try SQLiteStatement(try SQLiteConnection(path: path), sql).run { count = Int($0.integer(0)) }
    return count
  }
}
