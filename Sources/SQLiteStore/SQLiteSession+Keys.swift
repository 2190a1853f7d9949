// How an SQLite session reads and changes the store keys in use.

package import Gate
package import Sealing
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

  /// Replaces some of the values that a key has sealed.
  ///
  /// - Returns: The ids of their rows, in order.
  package func reseal(
    _ table: SealedTable, _ key: StoreKeyID, after: [UInt8], most: Int, _ seal: (SealedValue) -> [UInt8]?
  ) throws(StoreError) -> [[UInt8]] {
    var values: [SealedValue] = []
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      values = []
      try SQLiteStatement(open.connection, table.sealed(by: "?", after: "?", most: most)).run([
        .bytes(key.bytes), .bytes(after),
      ]) {
        values.append(SealedValue(id: $0.blob(0), sealed: $0.blob(1), for: table.purpose))
      }
      let replace = try SQLiteStatement(
        open.connection, table.replacement(value: "?1", key: "?2", id: "?3", before: "?4"))
      for value in values {
        let sealed = seal(value)
        try replace.run([
          .optional(sealed), .optional(sealed.flatMap(StoreKeys.keyID)?.bytes), .bytes(value.id),
          .bytes(key.bytes),
        ])
      }
      return !values.isEmpty
    }
    return values.map(\.id)
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

  /// What a key has sealed in each table.
  static func sealed(
    by key: StoreKeyID, in tables: [SealedTable] = SealedTable.all, _ connection: SQLiteConnection
  ) throws(StoreError) -> [(until: Int64?, open: Int64?)] {
    var answers: [(until: Int64?, open: Int64?)] = []
    for table in tables {
      try SQLiteStatement(connection, table.question(parameter: "?")).run([.bytes(key.bytes)]) {
        answers.append(($0.optionalInteger(0), $0.optionalInteger(1)))
      }
    }
    return answers
  }
}
