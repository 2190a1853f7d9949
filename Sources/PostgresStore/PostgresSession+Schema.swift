// Reads the schema of a PostgreSQL store, and upgrades it.

import Platform
package import Store

extension PostgresSession {
  /// Saves a heartbeat, and compares the clocks. A newer release may have changed the schema meanwhile.
  /// Instances of this release then continue with the connections that they have.
  package func ping() throws(StoreError) {
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      try self.signalLife(connection, isDue: true)
      let asked = (self.clock.now, self.clock.unixTime)
      let found = try connection.run([.prepared(PostgresStatements.time, [])], within: Self.span)
      let trip = self.clock.now - asked.0
      // The server read its clock at some moment of the round trip. A long round trip says little.
      guard trip < .seconds(1), let time = try found[0].rows.first?.integer(0) else { return }
      let here = Duration.seconds(asked.1.seconds) + .nanoseconds(Int64(asked.1.nanoseconds)) + trip / 2
      self.instance.health.compared(clockAhead: here - .microseconds(time))
    }
  }

  /// Upgrades the schema to this release's version. If it already has that version, nothing is locked or
  /// written, so the server can run with a role that must not create tables.
  package func migrate(_ wait: MigrationWait) throws(StoreError) -> Bool {
    instance.route.reopen()
    var found = 0
    var remedy = Self.remedy(or: Self.tableRights)
    do throws(StoreError) {
      try use { connection throws(PostgresFailure) in
        try self.refuseEncoding(connection)
        try self.refusePooler(connection)
        found = try Self.version(connection)
      }
      if found < Migration.latest {
        remedy = found == 0 ? Self.remedy(or: Self.schemaRights) : Self.ownersTurn
        found = try upgrade(wait)
      }
    } catch {
      guard error.kind == .refused, error.operation != PostgresFailure.connecting else { throw error }
      throw StoreError(.refused, "schema", "\(error.message): \(remedy)")
    }
    guard found <= Migration.latest else { throw Migration.incompatible(found) }
    return true
  }

  private static func remedy(or rights: String) -> String {
    "run `callgate migrate` as the role that owns the database, or let this role do it: \(rights)"
  }

  /// The grant that lets a role create the tables. Since PostgreSQL 15, roles may not create tables in the
  /// schema `public` by default.
  private static let schemaRights =
    "GRANT USAGE, CREATE ON SCHEMA public TO role, or ALTER DATABASE name OWNER TO role"
  /// Only the owner of a table can change it: no grant allows that to another role.
  private static let ownersTurn = "run `callgate migrate` as the role that owns the tables"
  /// The grant that lets a role use the tables of another role.
  private static let tableRights =
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO role"

  /// Upgrades the schema over a separate connection, whose end frees every lock. Starts again once if the
  /// connection breaks.
  private func upgrade(_ wait: MigrationWait) throws(StoreError) -> Int {
    let deadline = wait.limit.map { clock.now + $0 }
    var breaks = 0
    while true {
      do throws(PostgresFailure) {
        var upgrade = PostgresUpgrade(try connect(), clock, until: deadline, report: wait.report)
        return try upgrade.run()
      } catch {
        breaks += 1
        guard error.isConnectionLost, breaks < 2 else { throw error.storeError }
      }
    }
  }

  /// The version of the schema; 0 if there is none.
  static func version(_ connection: PostgresConnection) throws(PostgresFailure) -> Int {
    let table = try connection.run([.plain("SELECT to_regclass('callgate_schema')")], within: span)
    guard table[0].rows.first?[0] != nil else { return 0 }
    let version = try connection.run(
      [.plain("SELECT coalesce(max(version), 0) FROM callgate_schema")], within: span)
    return try version[0].rows.first.map { row throws(PostgresFailure) in Int(try row.integer(0)) } ?? 0
  }

  /// Reads the version of the schema; 0 if there is none. Also checks what this role may do: write, in a
  /// transaction that is rolled back; with an older schema, change the tables; without a schema, create them.
  package func inspect() throws(StoreError) -> Int {
    var version = 0
    try use { connection throws(PostgresFailure) in
      try self.refuseEncoding(connection)
      try self.refusePooler(connection)
      do throws(PostgresFailure) {
        version = try Self.version(connection)
        guard version >= Migration.latest else {
          return try version == 0
            ? Self.proveThatTablesCanBeMade(connection) : Self.proveThatTablesCanBeChanged(connection)
        }
        guard version == Migration.latest else { return }
        let trial = "\(self.instance.number)"
        _ = try connection.run(
          [
            .plain("BEGIN"), .prepared(PostgresStatements.signalLife, [trial]),
            .prepared(PostgresStatements.endInstance, [trial]), .plain("ROLLBACK"),
          ], within: Self.span)
      } catch {
        guard error.state == "42501", error.operation == "statement" else { throw error }
        var advised = error
        advised.message += ": \(Self.tableRights)"
        throw advised
      }
    }
    guard version <= Migration.latest else { throw Migration.incompatible(version) }
    return version
  }

  /// Fails if this role cannot upgrade the schema because the tables belong to another role.
  private static func proveThatTablesCanBeChanged(_ connection: PostgresConnection) throws(PostgresFailure) {
    let found = try connection.run(
      [.plain("SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'callgate_schema'::regclass")],
      within: span)
    guard found[0].rows.first?[0] != "t" else { return }
    throw PostgresFailure(
      operation: "schema", state: "42501", message: "this role may not change the tables: \(ownersTurn)")
  }

  /// Fails if this role cannot create the tables: no schema of its search path allows it.
  private static func proveThatTablesCanBeMade(_ connection: PostgresConnection) throws(PostgresFailure) {
    let found = try connection.run(
      [.plain("SELECT has_schema_privilege(current_schema(), 'CREATE')")], within: span)
    guard found[0].rows.first?[0] != "t" else { return }
    throw PostgresFailure(
      operation: "schema", state: "42501",
      message: "this role may not create tables: \(schemaRights)")
  }

  /// The maker of ids. Its hash key is read once for each connection, which also proves that the schema has
  /// this release's version.
  func maker(_ connection: PostgresConnection) throws(PostgresFailure) -> StoreIDMaker {
    if let ids { return ids }
    let row = try connection.run([.prepared(PostgresStatements.meta, [])], within: Self.span)[0].rows.first
    let version = try row?.optionalInteger(0).map { Int($0) } ?? 0
    guard version == Migration.latest else {
      throw PostgresFailure(
        operation: "schema", state: "42P01", message: Migration.mismatch(version))
    }
    guard let key = try row?.optionalID(1) else {
      throw PostgresFailure(operation: "schema", state: "XX001", message: "the hash key is missing")
    }
    let made = StoreIDMaker(key: key)
    ids = made
    return made
  }
}
