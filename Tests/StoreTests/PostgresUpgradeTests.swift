// Tests of upgrading a PostgreSQL store while other sessions use its tables.

import DatabaseURL
import Gate
import Platform
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresUpgradeTests {
  /// The version of the first release.
  private static let first = 3
  /// Query for traces of an unfinished upgrade: the version, missing or invalid indexes, and the upgrade's
  /// mark.
  private static let remains = """
    SELECT (SELECT max(version) FROM callgate_schema), (SELECT count(*) FROM pg_index WHERE NOT indisvalid),
      (SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'callgate_%'),
      (SELECT count(*) FROM callgate_meta WHERE name = 'upgrade')
    """

  /// Some records of the previous release.
  private static let records = """
    INSERT INTO callgate_callback (id, caller, contact, created, status, instance, abandoned, expires)
    SELECT gen_random_uuid(), 'ios-app', '+*********66', 1, 'accepted', 1, 1, 9000000000000000000 FROM generate_series(1, 1000)
    """

  /// The result of `remains` in a new database.
  private static func expected() async throws -> String {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let store = PostgresStore(address)
    try await store.migrate()
    await store.close()
    return try server.query(String(address.text.split(separator: "/").last ?? ""), remains)
  }

  private static func connection(_ address: PostgresAddress) throws -> PostgresConnection {
    let made = try PostgresConnection(
      address.parameters(for: address.hosts?.first), until: SystemClock().now + .seconds(10))
    // Transactions stay open for as long as a busy machine needs.
    try run(made, "SET idle_in_transaction_session_timeout = 0", "SET statement_timeout = 0")
    return made
  }

  private static func run(_ connection: PostgresConnection, _ statements: String...) throws {
    for sql in statements { _ = try connection.run([.plain(sql)], within: .seconds(10)) }
  }

  @Test func `every version comes to the schema of a new store`() async throws {
    let server = try PostgresServer.shared.get()
    let expected = try await Self.expected()
    for version in 1..<Migration.latest {
      let (name, address) = try OldStore.postgres(version: version, rows: version > 1 ? [Self.records] : [])
      let store = PostgresStore(address)
      try await store.migrate()
      try await store.ping()
      await store.close()
      #expect(try server.query(name, Self.remains) == expected, "from version \(version)")
    }
  }

  @Test
  func `a transaction that reads a record and then writes it ends before the upgrade, and neither fails`()
    async throws
  {
    let (_, address) = try OldStore.postgres(version: Self.first, rows: [Self.records])
    let request = try Self.connection(address)
    try Self.run(request, "BEGIN", "SELECT id FROM callgate_callback LIMIT 1 FOR UPDATE")
    let store = PostgresStore(address)
    let (said, report) = AsyncStream.makeStream(of: String.self)
    async let upgrade: Void = store.migrate(MigrationWait(nil) { report.yield($0) })
    _ = await said.first { _ in true }
    try Self.run(request, "UPDATE callgate_callback SET settled = 2", "COMMIT")
    try await upgrade
    await store.close()
  }

  @Test
  func `a long reader is named, requests go on beside it, and the upgrade succeeds when the reader ends`()
    async throws
  {
    let server = try PostgresServer.shared.get()
    let (name, address) = try OldStore.postgres(version: Self.first, rows: [Self.records])
    let (reader, request) = (try Self.connection(address), try Self.connection(address))
    try Self.run(
      reader, "SET application_name = 'pg_dump'", "BEGIN", "SELECT count(*) FROM callgate_callback")
    let store = PostgresStore(address)
    let (said, report) = AsyncStream.makeStream(of: String.self)
    async let upgrade: Void = store.migrate(MigrationWait(nil) { report.yield($0) })
    let words = await said.first { _ in true } ?? ""
    #expect(words.hasPrefix("the upgrade of the schema waits for process "))
    #expect(words.hasSuffix(" (pg_dump)"))
    // The waiting upgrade does not block this update, which would fail after 100 ms.
    try Self.run(request, "SET lock_timeout = 100", "UPDATE callgate_callback SET settled = 2")
    #expect(try server.query(name, "SELECT max(version) FROM callgate_schema") == "\(Self.first)\n")
    try Self.run(reader, "COMMIT")
    try await upgrade
    await store.close()
    #expect(try await server.query(name, Self.remains) == Self.expected())
  }

  @Test func `a server that starts gives up after its time, and says who is in the way`() async throws {
    let server = try PostgresServer.shared.get()
    let (name, address) = try OldStore.postgres(version: Self.first, rows: [])
    let reader = try Self.connection(address)
    try Self.run(
      reader, "SET application_name = 'report'", "BEGIN", "LOCK TABLE callgate_callback IN ACCESS SHARE MODE")
    let store = PostgresStore(address)
    let error = await #expect(throws: StoreError.self) { try await store.migrate(MigrationWait(.seconds(2))) }
    #expect(error?.kind == .unavailable)
    #expect(error?.message.contains(" (report): run `callgate migrate`") == true, "\(error?.message ?? "")")
    #expect(try server.query(name, "SELECT max(version) FROM callgate_schema") == "\(Self.first)\n")
    await store.close()
  }

  @Test func `an upgrade that was ended between its parts is completed by the next one`() async throws {
    let server = try PostgresServer.shared.get()
    let plan = SchemaUpgrade(from: Self.first, prepared: 0, \.postgres)
    let index = try #require(plan.indexes.first)
    let (name, address) = try OldStore.postgres(
      version: Self.first,
      rows: plan.changes + [
        index.sql, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '\(index.name)'::regclass",
        "INSERT INTO callgate_meta (name, value) VALUES ('\(SchemaUpgrade.mark)', '\(Migration.latest)')",
      ])
    // Until the version is written, the previous release may connect.
    #expect(try server.query(name, "SELECT max(version) FROM callgate_schema") == "\(Self.first)\n")
    let store = PostgresStore(address)
    try await store.migrate()
    await store.close()
    #expect(try await server.query(name, Self.remains) == Self.expected())
  }

  // MARK: The plan

  @Test
  func
    `the plan locks changed tables in the order of requests, and builds indexes of tables that were there apart`()
  {
    let plan = SchemaUpgrade(from: Self.first, prepared: 0, \.postgres)
    #expect(plan.tables == ["callgate_callback", "callgate_stop"])
    #expect(plan.changes.allSatisfy { !$0.contains("ON callgate_callback") })
    #expect(
      plan.indexes.map(\.name).prefix(3) == [
        "callgate_callback_status", "callgate_callback_verification", "callgate_callback_due",
      ])
    #expect(
      plan.indexes.allSatisfy { $0.concurrently.hasPrefix("CREATE INDEX CONCURRENTLY callgate_callback_") })
    let resumed = SchemaUpgrade(from: Self.first, prepared: Migration.latest, \.postgres)
    #expect(resumed.changes.isEmpty && resumed.indexes == plan.indexes)
  }

  @Test func `every table of every step has its place in the order of locks`() {
    for statements in [\Migration.sqlite, \Migration.postgres] {
      let tables = Migration.all.flatMap { $0[keyPath: statements] }.map { MigrationStatement($0).table }
      #expect(Set(tables).subtracting(SchemaUpgrade.order).isEmpty)
    }
  }
}
