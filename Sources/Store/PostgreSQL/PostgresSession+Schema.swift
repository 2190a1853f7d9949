// The kill switch and the schema in PostgreSQL.

internal import Platform

extension PostgresSession {
  /// The number of the lock that migrations hold: `callgate` as bytes.
  private static let migrationLock: Int64 = 0x6361_6C6C_6761_7465

  // MARK: Stops

  func stops() throws(StoreError) -> StopSet {
    var rows: [(scope: String, id: String, action: String, since: Int64)] = []
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      let found = try connection.run([.prepared(PostgresStatements.stops, [])], within: Self.span)
      rows = found[0].rows.map { row in
        (row[0] ?? "", row[1] ?? "", row[2] ?? "", row[3].flatMap { Int64($0) } ?? 0)
      }
    }
    return StopSet(rows: rows)
  }

  func stop(_ stop: Stop) throws(StoreError) {
    let (scope, id) = stop.target.parts
    try commit(stop.action) {
      [scope, id, $0.rawValue, "\(stop.since)"]
    } statement: {
      PostgresStatements.stop
    }
  }

  func resume(_ target: Stop.Target, _ action: Stop.Action) throws(StoreError) {
    let (scope, id) = target.parts
    try commit(action) {
      [scope, id, $0.rawValue]
    } statement: {
      PostgresStatements.resume
    }
  }

  private func commit(
    _ action: Stop.Action, parameters: (Stop.Action) -> [String?], statement: () -> PostgresStatement
  ) throws(StoreError) {
    let commands = action.single.map { PostgresCommand.prepared(statement(), parameters($0)) }
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      _ = try connection.run([.plain("BEGIN")] + commands + [.plain("COMMIT")], within: Self.span)
    }
  }

  // MARK: Schema

  /// Whether it answers, has our schema and may be written to.
  func ping() throws(StoreError) {
    try use { connection throws(PostgresFailure) in
      self.ids = nil
      _ = try self.maker(connection)
      let found = try connection.run([.plain("SELECT pg_is_in_recovery()")], within: Self.span)
      guard found[0].rows.first?.first != "t" else {
        throw PostgresFailure(operation: "ping", state: "25006", message: "the server is a standby")
      }
    }
  }

  func migrate() throws(StoreError) {
    closedUntil = nil
    // As long as another instance needs that came first.
    let patience = Duration.seconds(90)
    var found = 0
    try use { connection throws(PostgresFailure) in
      let version = try connection.run(
        [
          .plain("BEGIN"), .plain("SET LOCAL statement_timeout = 0"), .plain("SET LOCAL lock_timeout = 0"),
          .plain("SELECT pg_advisory_xact_lock(\(Self.migrationLock))"),
          .plain(
            "CREATE TABLE IF NOT EXISTS callgate_schema (version bigint PRIMARY KEY, applied bigint NOT NULL)"
          ),
          .plain("SELECT coalesce(max(version), 0) FROM callgate_schema"),
        ], within: patience)
      found = version[5].rows.first?.first.flatMap { $0.flatMap { Int($0) } } ?? 0
      guard found < Migration.latest else {
        _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
        return
      }
      var commands: [PostgresCommand] = []
      for (index, step) in Migration.all.enumerated().dropFirst(found) {
        commands += step.postgres.map { .plain($0) }
        commands.append(
          .plain(
            "INSERT INTO callgate_schema (version, applied) VALUES (\(index + 1), \(clock.unixTime.seconds))")
        )
      }
      if found == 0 {
        commands.append(
          .plain(
            "INSERT INTO callgate_meta (name, value) VALUES ('hash_key', '\(StoreIDMaker.newKey().hex)')"))
      }
      _ = try connection.run(commands + [.plain("COMMIT")], within: patience)
    }
    guard found <= Migration.latest else { throw Migration.incompatible(found) }
  }

  /// What makes ids, read once; also the proof that the schema is ours.
  func maker(_ connection: PostgresConnection) throws(PostgresFailure) -> StoreIDMaker {
    if let ids { return ids }
    let row =
      try connection.run([.prepared(PostgresStatements.meta, [])], within: Self.span)[0].rows.first ?? [
        nil, nil,
      ]
    let version = row[0].flatMap { Int($0) } ?? 0
    guard version == Migration.latest else {
      throw PostgresFailure(
        operation: "schema", state: "42P01", message: Migration.mismatch(version))
    }
    guard let key = row[1].flatMap({ StoreID(hex: $0) }) else {
      throw PostgresFailure(operation: "schema", state: "XX001", message: "the hash key is missing")
    }
    let made = StoreIDMaker(key: key)
    ids = made
    return made
  }
}
