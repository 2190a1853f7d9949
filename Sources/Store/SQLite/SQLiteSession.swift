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

  let path: String
  /// This open store, until it is closed; a connection may come and go meanwhile.
  var instance = SQLiteInstance()
  let clock = SystemClock()
  private let flush: SQLiteLog.Flush
  private let flusher = SQLiteFlusher()
  private let checkpointer: SQLiteCheckpointer
  private var open: Open?
  private var backOff = BackOff()
  var closedUntil: (time: MonotonicTime, error: StoreError)?
  /// A flush has failed, and no checkpoint has made up for it.
  private var needsCheckpoint = false

  init(path: String, flush: @escaping SQLiteLog.Flush = SQLiteLog.dataSync) {
    self.path = path
    self.flush = flush
    checkpointer = SQLiteCheckpointer(path: path)
  }

  func close() {
    flusher.drain()
    // The last connection that closes checkpoints everything and removes the log.
    checkpointer.drain()
    open = nil
    instance.end()
  }

  // MARK: Transactions

  func finish(_ jobs: [UpdateJob]) { flusher.finish(jobs) }

  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    try transaction(.later) { open throws(StoreError) in
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
    try transaction(.later) { open throws(StoreError) in
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

  /// When the disk has a transaction.
  enum Durability {
    /// When it returns.
    case now
    /// Soon: `finish` tells those who wait for that.
    case later
  }

  /// Runs something in a transaction: committed if it says that there is something to commit.
  func transaction(
    _ durability: Durability = .now, _ body: (Open) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try use { open throws(StoreError) in
      try open.begin.run()
      do throws(StoreError) {
        // Before anything is committed that could not be flushed.
        let log = try open.log(flush)
        guard try body(open) else { return try open.rollback.run() }
        try open.commit.run()
        try committed(open, log, durability)
      } catch {
        // SQLite may have rolled back by itself. Where this fails too, the connection goes.
        if open.connection.isInTransaction {
          do throws(StoreError) { try open.rollback.run() } catch { self.open = nil }
        }
        throw error
      }
    }
  }

  private func committed(_ open: Open, _ log: SQLiteLog, _ durability: Durability) throws(StoreError) {
    switch durability {
    case .now: try log.flush()
    case .later: flusher.wrote(log)
    }
    let pages = open.connection.logPages
    checkpointer.logHas(pages)
    guard pages >= SQLiteCheckpointer.most else { return }
    do throws(StoreError) { try open.connection.checkpoint(.passive) } catch {
      // As within SQLite's own commits: the transaction stands, and the next one that fails says what is wrong.
    }
  }

  /// Opens the file if need be, and lets go of it where a failure says that it may not be usable any more.
  func use(_ body: (Open) throws(StoreError) -> Void) throws(StoreError) {
    if let closedUntil, clock.now < closedUntil.time { throw closedUntil.error }
    do throws(StoreError) {
      if open?.log?.isBroken == true { letGo() }
      if open == nil {
        let opened = try Open(path: path)
        if needsCheckpoint { try opened.connection.checkpoint(.truncate) }
        needsCheckpoint = false
        open = opened
      }
      guard let open else { preconditionFailure("opened just now") }
      try body(open)
      closedUntil = nil
      backOff.succeeded()
    } catch {
      if error.kind != .incompatible, error.kind != .rejected {
        letGo()
        closedUntil = (clock.now + backOff.failed(), error)
      }
      throw error
    }
  }

  private func letGo() {
    if open?.log?.isBroken == true { needsCheckpoint = true }
    open = nil
  }
}
