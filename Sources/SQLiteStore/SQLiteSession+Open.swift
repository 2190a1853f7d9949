// An open SQLite file with its prepared statements.

import Store

extension SQLiteSession {
  /// An open file with its prepared statements.
  final class Open {
    let connection: SQLiteConnection
    let begin, commit, rollback: SQLiteStatement
    /// Only after the schema was found to be there.
    private(set) var statements: Statements?

    struct Statements {
      let ids: StoreIDMaker
      let read, put, remove: SQLiteStatement
      let callbacks: SQLiteCallbacks
      let installation: SQLiteStatement
    }

    /// Opens the file, and moves the log of an earlier process into the database.
    ///
    /// The server must not append to that log. If a flush failed and the process was then killed, the log has a transaction that can be
    /// read and that the disk may not have: Linux marks the pages as written (fsync(2)). After a power cut the log would end before that
    /// transaction, and every appended one would be lost.
    init(path: String, vfs: String?) throws(StoreError) {
      connection = try SQLiteConnection(path: path, vfs: vfs)
      try connection.emptyLog()
      // A transaction that will write must not begin with a read: another process could write between.
      begin = try SQLiteStatement(connection, "BEGIN IMMEDIATE")
      commit = try SQLiteStatement(connection, "COMMIT")
      rollback = try SQLiteStatement(connection, "ROLLBACK")
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
        callbacks: try SQLiteCallbacks(connection),
        installation: try SQLiteStatement(
          connection, "SELECT \(InstallationColumn.table.list) FROM callgate_installation WHERE id = ?"))
      statements = made
      return made
    }
  }
}
