// An open SQLite database with its prepared statements.

import Gate
import Store

extension SQLiteSession {
  /// An open database with its prepared statements.
  final class Open {
    let connection: SQLiteConnection
    let begin, commit, rollback: SQLiteStatement
    /// The statements on tables; nil until the schema was found to be up to date.
    private(set) var statements: Statements?

    struct Statements {
      let ids: StoreIDMaker
      let read, put, remove: SQLiteStatement
      let callbacks: SQLiteCallbacks

      /// Adds the rows of a transaction.
      func read(_ working: inout WorkingSet) throws(StoreError) {
        for id in working.allowances {
          var state: AllowanceState?
          try read.run([.bytes(id.bytes)]) {
            state = AllowanceState(mark: $0.integer(0), count: $0.integer(1))
          }
          working.add(id, state)
        }
        try callbacks.read(&working)
      }

      /// Writes the changes.
      func write(_ working: WorkingSet) throws(StoreError) {
        for (id, write) in working.writes {
          switch write {
          case .keep: break
          case .put(let state, let expiry):
            try put.run([
              .bytes(id.bytes), .integer(state.mark), .integer(state.count), .integer(coarseExpiry(expiry)),
            ])
          case .remove: try remove.run([.bytes(id.bytes)])
          }
        }
        try callbacks.write(working.book)
      }
    }

    /// Opens the file, and moves the log of an earlier process into the database.
    ///
    /// The server must not append to that log. If a flush failed and the process was then killed, the log
    /// contains a transaction that can be read but that the disk may not have: Linux marks the pages as
    /// written (fsync(2)). After a power cut the log would end before that transaction, and every transaction
    /// appended after it would be lost.
    convenience init(path: String, vfs: String?) throws(StoreError) {
      try self.init(try SQLiteConnection(path: path, vfs: vfs))
      try connection.emptyLog()
    }

    /// Makes a database in memory, with its tables.
    convenience init() throws(StoreError) {
      try self.init(try SQLiteConnection())
      try begin.run()
      try SQLiteSession.create(connection)
      try commit.run()
    }

    private init(_ connection: SQLiteConnection) throws(StoreError) {
      self.connection = connection
      // A transaction that will write must not begin with a read: another process could write between.
      begin = try SQLiteStatement(connection, "BEGIN IMMEDIATE")
      commit = try SQLiteStatement(connection, "COMMIT")
      rollback = try SQLiteStatement(connection, "ROLLBACK")
    }

    /// The shared statements that are already prepared, by name.
    private var known: [String: SQLiteStatement] = [:]

    /// Returns the statement with a name, which is prepared once.
    func statement(_ name: String, _ sql: String) throws(StoreError) -> SQLiteStatement {
      if let made = known[name] { return made }
      _ = try prepared()
      let made = try SQLiteStatement(connection, sql)
      known[name] = made
      return made
    }

    /// Runs a query, whose statement is prepared once, and returns its rows.
    func rows<Row>(_ query: Query<Row>, _ values: [ColumnValue]) throws(StoreError) -> [Row] {
      var rows: [Row] = []
      try statement(query.name, query.sql).run(values) { row in
        if let value = row.read(query) { rows.append(value) }
      }
      return rows
    }

    /// Runs a change, whose statement is prepared once.
    func run(_ call: ChangeCall) throws(StoreError) {
      try statement(call.change.name, call.change.withoutLocks).run(call.values)
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
