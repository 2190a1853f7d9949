// Reads and changes the list of store keys in use, in an SQLite session.

package import Gate
import Sealing
package import Store

extension SQLiteSession {
  package func keys() throws(StoreError) -> [KeyInUse] { try inspecting(Self.keys) }

  package func updateKeys(at now: Instant, _ judge: ([KeyInUse]) -> KeyRuling) throws(StoreError) -> KeyRuling
  {
    var ruling: KeyRuling?
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      let made = judge(try Self.keys(open.connection))
      ruling = made
      guard case .usable(let changes) = made, !changes.isEmpty else { return false }
      for id in changes.removed {
        try SQLiteStatement(open.connection, "DELETE FROM callgate_store_key WHERE id = ?").run([
          .bytes(id.bytes)
        ])
      }
      if let added = changes.added {
        try SQLiteStatement(
          open.connection, "INSERT INTO callgate_store_key (id, check_value, since) VALUES (?, ?, ?)"
        ).run([.bytes(added.id.bytes), .bytes(added.check), .integer(now.seconds)])
      }
      return true
    }
    guard let ruling else { preconditionFailure("the transaction succeeded without running its body") }
    return ruling
  }

  private static func keys(_ connection: SQLiteConnection) throws(StoreError) -> [KeyInUse] {
    var rows: [(mark: StoreKeyMark, since: Int64)] = []
    try SQLiteStatement(
      connection, "SELECT id, check_value, since FROM callgate_store_key ORDER BY since, id"
    ).run {
      guard let id = StoreKeyID($0.blob(0)) ?? $0.unreadable() else { return }
      rows.append((StoreKeyMark(id: id, check: $0.blob(1)), $0.integer(2)))
    }
    var keys: [KeyInUse] = []
    for (mark, since) in rows {
      keys.append(KeyInUse(mark, since: since, try sealed(by: mark.id, connection)))
    }
    return keys
  }

  /// For each table: the time at which the last value that a key has sealed expires, and whether a record
  /// that has not ended has such a value (1 or 0).
  static func sealed(
    by key: StoreKeyID, in tables: [SealedTable] = SealedTable.all, _ connection: SQLiteConnection
  ) throws(StoreError) -> [(until: Int64?, open: Int64?)] {
    var answers: [(until: Int64?, open: Int64?)] = []
    for table in tables {
      try SQLiteStatement(connection, table.question(parameter: "?1")).run([.bytes(key.bytes)]) {
        answers.append(($0.optionalInteger(0), $0.optionalInteger(1)))
      }
    }
    return answers
  }
}
