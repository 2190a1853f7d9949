// Reads and changes the list of store keys in use, in a PostgreSQL session.

package import Gate
import Sealing
package import Store

extension PostgresSession {
  package func keys() throws(StoreError) -> [KeyInUse] {
    var keys: [KeyInUse] = []
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      let found = try connection.run([.prepared(PostgresStatements.keys, [])], within: Self.span)
      keys = try Self.keys(found[0], connection)
    }
    return keys
  }

  package func updateKeys(at now: Instant, _ judge: ([KeyInUse]) -> KeyRuling) throws(StoreError) -> KeyRuling
  {
    var ruling: KeyRuling?
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      // Other sessions may still read the table. Those that would write wait.
      let found = try connection.run(
        [
          .plain("BEGIN"), .plain("LOCK TABLE callgate_store_key IN SHARE ROW EXCLUSIVE MODE"),
          .prepared(PostgresStatements.keys, []),
        ], within: Self.span)
      let made = judge(try Self.keys(found[2], connection))
      ruling = made
      guard case .usable(let changes) = made, !changes.isEmpty else {
        _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
        return
      }
      var commands = changes.removed.map {
        PostgresCommand.prepared(PostgresStatements.removeKey, [PostgresText.bytea($0.bytes)])
      }
      if let added = changes.added {
        commands.append(
          .prepared(
            PostgresStatements.addKey,
            [PostgresText.bytea(added.id.bytes), PostgresText.bytea(added.check), "\(now.seconds)"]))
      }
      _ = try connection.run(commands + [.plain("COMMIT")], within: Self.span)
    }
    guard let ruling else { preconditionFailure("the transaction succeeded without running its body") }
    return ruling
  }

  private static func keys(
    _ found: PostgresRows, _ connection: PostgresConnection
  ) throws(PostgresFailure) -> [KeyInUse] {
    var keys: [KeyInUse] = []
    for row in found.rows {
      let id = try row.value(0) { PostgresText.bytes($0).flatMap(StoreKeyID.init) }
      keys.append(
        KeyInUse(
          StoreKeyMark(id: id, check: try row.bytes(1)), since: try row.integer(2),
          try sealed(by: id, connection)))
    }
    return keys
  }

  /// For each table: the time at which the last value that a key has sealed expires, and whether a record
  /// that has not ended has such a value (1 or 0).
  static func sealed(
    by key: StoreKeyID, in tables: [SealedTable] = SealedTable.all, _ connection: PostgresConnection
  ) throws(PostgresFailure) -> [(until: Int64?, open: Int64?)] {
    let questions = tables.map { table in
      PostgresCommand.prepared(
        PostgresStatement(
          name: "callgate_sealed_\(table.key)", sql: table.question(parameter: "$1::bytea")),
        [PostgresText.bytea(key.bytes)])
    }
    guard !questions.isEmpty else { return [] }
    return try connection.run(questions, within: span).compactMap(\.rows.first).map {
      row throws(PostgresFailure) in
      (until: try row.optionalInteger(0), open: try row.optionalInteger(1))
    }
  }
}

extension PostgresStatements {
  static let keys = PostgresStatement(
    name: "callgate_keys", sql: "SELECT id, check_value, since FROM callgate_store_key ORDER BY since, id")
  static let addKey = PostgresStatement(
    name: "callgate_add_key",
    sql: "INSERT INTO callgate_store_key (id, check_value, since) VALUES ($1::bytea, $2::bytea, $3::bigint)")
  static let removeKey = PostgresStatement(
    name: "callgate_remove_key", sql: "DELETE FROM callgate_store_key WHERE id = $1::bytea")
}
