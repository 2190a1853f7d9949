// An SQLite file that is open.

extension SQLiteSession {
  /// A file that is open, with what is used again and again.
  final class Open {
    let connection: SQLiteConnection
    let begin, commit, rollback: SQLiteStatement
    private let path: String
    /// Only after the schema was found to be there.
    private(set) var statements: Statements?
    /// Only after a transaction was begun.
    private(set) var log: SQLiteLog?

    struct Statements {
      let ids: StoreIDMaker
      let read, put, remove: SQLiteStatement
      let callbacks: SQLiteCallbacks
    }

    init(path: String) throws(StoreError) {
      self.path = path
      connection = try SQLiteConnection(path: path)
      // Readers of what is about to be changed must not begin with a read: another process could write between.
      begin = try SQLiteStatement(connection, "BEGIN IMMEDIATE")
      commit = try SQLiteStatement(connection, "COMMIT")
      rollback = try SQLiteStatement(connection, "ROLLBACK")
    }

    /// The log, within or after a transaction.
    func log(_ flush: @escaping SQLiteLog.Flush) throws(StoreError) -> SQLiteLog {
      if let log { return log }
      let made = try SQLiteLog(beside: path, flush: flush)
      log = made
      return made
    }

    func prepared() throws(StoreError) -> Statements {
      if let statements { return statements }
      let version = try SQLiteSession.version(connection)
      guard version == Migration.latest else { throw Migration.incompatible(version) }
      var text = ""
      try SQLiteStatement(connection, "SELECT value FROM callgate_meta WHERE name = 'hash_key'").run {
        text = $0.text(0)
      }
      guard let key = StoreID(hex: text) else {
        throw StoreError(.damaged, "schema", "the hash key is missing")
      }
      let made = Statements(
        ids: StoreIDMaker(key: key),
        read: try SQLiteStatement(connection, "SELECT mark, used FROM callgate_allowance WHERE id = ?"),
        put: try SQLiteStatement(
          connection,
          """
          INSERT INTO callgate_allowance (id, mark, used, expires) VALUES (?, ?, ?, ?)
          ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, used = excluded.used, expires = excluded.expires
          """),
        remove: try SQLiteStatement(connection, "DELETE FROM callgate_allowance WHERE id = ?"),
        callbacks: try SQLiteCallbacks(connection))
      statements = made
      return made
    }
  }
}
