// What a store does with its SQLite file, on the queue that owns it.

internal import Gate
internal import Platform

/// A file and the statements for it. It opens with the first use, and again after a failure that the connection may
/// not have survived, with a back-off.
final class SQLiteSession: StoreSession {
  /// A file that is open, with what is used again and again.
  final class Open {
    let connection: SQLiteConnection
    let begin, commit, rollback: SQLiteStatement
    /// Only after the schema was found to be there.
    private(set) var statements: Statements?

    struct Statements {
      let ids: StoreIDMaker
      let read, put, remove: SQLiteStatement
      let callbacks: SQLiteCallbacks
    }

    init(path: String) throws(StoreError) {
      connection = try SQLiteConnection(path: path)
      // Readers of what is about to be changed must not begin with a read: another process could write between.
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
        callbacks: try SQLiteCallbacks(connection))
      statements = made
      return made
    }
  }

  let path: String
  /// This open store, until it is closed; a connection may come and go meanwhile.
  var instance = SQLiteInstance()
  let clock = SystemClock()
  private var open: Open?
  private var backOff = BackOff()
  var closedUntil: (time: MonotonicTime, error: StoreError)?

  init(path: String) { self.path = path }

  func close() {
    open = nil
    instance.end()
  }

  // MARK: Transactions

  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    try transaction { open throws(StoreError) in
      let statements = try open.prepared()
      var working = WorkingSet(jobs, ids: statements.ids)
      // Who begins something is known to be alive before that is there.
      if !working.begins.isEmpty, !instance.isAlive { try instance.stayAlive(path) }
      for id in working.allowances {
        var state: AllowanceState?
        try statements.read.run([.blob(id.bytes)]) {
          state = AllowanceState(mark: $0.integer(0), count: $0.integer(1))
        }
        working.add(id, state)
      }
      try statements.callbacks.read(&working)
      working.run(instance: instance.number)
      for (id, write) in working.writes {
        switch write {
        case .keep: break
        case .put(let state, let expiry):
          try statements.put.run([
            .blob(id.bytes), .integer(state.mark), .integer(state.count), .integer(coarseExpiry(expiry)),
          ])
        case .remove: try statements.remove.run([.blob(id.bytes)])
        }
      }
      try statements.callbacks.write(working.book)
      return working.isChanged
    }
  }

  func states(of keys: [AllowanceKey]) throws(StoreError) -> [AllowanceState?] {
    var states: [AllowanceState?] = []
    try use { open throws(StoreError) in
      let statements = try open.prepared()
      states = []
      for key in keys {
        var state: AllowanceState?
        try statements.read.run([.blob(statements.ids.id(of: key).bytes)]) {
          state = AllowanceState(mark: $0.integer(0), count: $0.integer(1))
        }
        states.append(state)
      }
    }
    return states
  }

  /// Forgets a bounded number of expired states, so that others need not wait long.
  func purge(at seconds: Int64, most: Int64) throws(StoreError) -> Int {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection,
        "DELETE FROM callgate_allowance WHERE id IN (SELECT id FROM callgate_allowance WHERE expires <= ? LIMIT ?)"
      ).run([.integer(seconds), .integer(most)])
      removed = open.connection.changes
      return removed > 0
    }
    return removed
  }

  /// Whether the file can be written: the lock for that is taken and let go.
  func ping() throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      return false
    }
  }

  // MARK: The file

  /// Runs something in a transaction: committed if it says that there is something to commit.
  func transaction(_ body: (Open) throws(StoreError) -> Bool) throws(StoreError) {
    try use { open throws(StoreError) in
      try open.begin.run()
      do throws(StoreError) {
        let isChanged = try body(open)
        try (isChanged ? open.commit : open.rollback).run()
      } catch {
        // SQLite may have rolled back by itself. Where this fails too, the connection goes.
        if open.connection.isInTransaction {
          do throws(StoreError) { try open.rollback.run() } catch { self.open = nil }
        }
        throw error
      }
    }
  }

  /// Opens the file if need be, and lets go of it where a failure says that it may not be usable any more.
  func use(_ body: (Open) throws(StoreError) -> Void) throws(StoreError) {
    if let closedUntil, clock.now < closedUntil.time { throw closedUntil.error }
    do throws(StoreError) {
      if open == nil { open = try Open(path: path) }
      guard let open else { preconditionFailure("opened just now") }
      try body(open)
      closedUntil = nil
      backOff.succeeded()
    } catch {
      if error.kind != .incompatible, error.kind != .rejected {
        open = nil
        closedUntil = (clock.now + backOff.failed(), error)
      }
      throw error
    }
  }
}
