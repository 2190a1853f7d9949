// The work of a store on its SQLite database, on the queue that owns it.

package import Gate
import Platform
package import Store

/// A database and its statements. A file is opened at the first use, and again, with a back-off, after a
/// failure that the connection may not have survived. A database in memory is opened once.
package final class SQLiteSession: DatabaseSession {
  package typealias Shared = Void

  /// The maximum number of rows that one purge deletes, which then takes a few milliseconds.
  package static let portion = 250
  package static let sharesTransactions = true
  /// Recovery writes only if there is something to recover.
  package static let recovery = StoreHealth.Effect.updates

  /// The file; nil for a database in memory.
  let path: String?
  /// The lock that shows other processes that this store is open. It remains when the connection is opened
  /// again.
  var instance = SQLiteInstance()
  let clock: any TimeSource
  let vfs: String?
  private var open: Open?
  private var backOff = BackOff()
  var closedUntil: (time: MonotonicTime, error: StoreError)?
  /// The error by which the database in memory was lost; nil while it is usable.
  private var lost: StoreError?
  /// The file that was opened first. If its path leads to another file or none later, `isReplaced` is set.
  private var file: SQLiteFile.Identity?
  private var isReplaced = false
  /// While jobs run that are committed together: the shared transaction, and whether it has something to
  /// commit.
  private var shared: (open: Open, isChanged: Bool)?
  /// The time before which no further attempt is made to free room on a full volume.
  private var nextRoom = MonotonicTime(nanoseconds: 0)

  init(path: String?, vfs: String?, clock: any TimeSource = SystemClock()) {
    self.clock = clock
    self.path = path
    self.vfs = vfs
  }

  package func close() {
    open = nil
    instance.end()
  }

  // MARK: Transactions

  /// The time of a transaction that has begun. All processes with this file use the same clock.
  var turn: TurnTime {
    let time = Instant(clock.unixTime)
    return TurnTime(machine: time, store: time)
  }

  package func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    try transaction(flushing: !jobs.allSatisfy(\.counts)) { open throws(StoreError) in
      let statements = try open.prepared()
      var working = WorkingSet(jobs, ids: statements.ids)
      // Lock this store's byte before its first record: recovery must not take the record for orphaned.
      if working.startsCallbacks, !instance.isAlive { try stayAlive() }
      try statements.read(&working)
      working.run(instance: instance.number, at: turn)
      try statements.write(working)
      shared = (open, isChanged: working.isChanged)
      defer { shared = nil }
      for job in jobs { if case .session(let body) = job.work { try body(self) } }
      return shared?.isChanged ?? false
    }
  }

  package func states(of keys: [AllowanceKey]) throws(StoreError) -> [AllowanceState?] {
    var states: [AllowanceState?] = []
    try use { open throws(StoreError) in
      let statements = try open.prepared()
      states = []
      for key in keys {
        var state: AllowanceState?
        try statements.read.run([.bytes(statements.ids.id(of: key).bytes)]) {
          state = AllowanceState(mark: $0.integer(0), count: $0.integer(1))
        }
        states.append(state)
      }
    }
    return states
  }

  /// Shows other processes that this store is open.
  func stayAlive() throws(StoreError) { if let path { try instance.stayAlive(path) } }

  /// Reads from a file that another process may have open, or from the database in memory.
  func inspecting<Result>(
    _ body: (SQLiteConnection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    if let path { return try body(SQLiteConnection(reading: path, vfs: vfs)) }
    var result: Result?
    try use { open throws(StoreError) in result = try body(open.connection) }
    guard let result else { preconditionFailure("the body has not run") }
    return result
  }

  // MARK: Queries and changes

  package func rows<Row>(_ query: Query<Row>, _ values: [ColumnValue]) throws(StoreError) -> [Row] {
    var rows: [Row] = []
    try use { open throws(StoreError) in rows = try open.rows(query, values) }
    return rows
  }

  package func change(_ calls: [ChangeCall]) throws(StoreError) -> Int {
    var changed = 0
    try transaction { open throws(StoreError) in
      changed = 0
      for call in calls {
        try open.run(call)
        changed += open.connection.changes
      }
      return changed > 0
    }
    return changed
  }

  /// Checks that the file can be written and that the disk responds. Writes and flushes a row, with another
  /// value each time, because SQLite does not write an unchanged value.
  package func ping() throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection,
        """
        INSERT INTO callgate_meta (name, value) VALUES ('ping', '1')
        ON CONFLICT (name) DO UPDATE SET value = 1 - value
        """
      ).run([])
      return true
    }
  }

  /// Frees up to `most` pages of memory that purged rows no longer need, and returns their number. In a file,
  /// later rows use the room again.
  package func finishPurge(most: Int) throws(StoreError) -> Int {
    guard path == nil else { return 0 }
    var freed = 0
    try use { open throws(StoreError) in
      var free = 0
      try SQLiteStatement(open.connection, "PRAGMA freelist_count").run { free = Int($0.integer(0)) }
      freed = min(free, most)
      if freed > 0 { try open.connection.execute("PRAGMA incremental_vacuum(\(freed))") }
    }
    return freed
  }

  // MARK: The file

  /// Runs a body in a transaction, which is committed if the body returns true.
  ///
  /// - Parameter isFlushing: Whether the function returns only when the disk has the transaction. Otherwise
  ///   the next transaction that is flushed also writes this one, because the log is one file. So no record
  ///   outlives a count that was made before it.
  func transaction(
    flushing isFlushing: Bool = true, _ body: (Open) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if let open = shared?.open {
      if try body(open) { shared?.isChanged = true }
      return
    }
    try use { open throws(StoreError) in
      if path != nil { try open.connection.flush(isFlushing) }
      try open.begin.run()
      do throws(StoreError) {
        if try body(open) { try commit(open) } else { try open.rollback.run() }
      } catch {
        // SQLite may already have rolled back. If the rollback fails, too, the connection is given up.
        if open.connection.isInTransaction {
          do throws(StoreError) { try open.rollback.run() } catch { self.open = nil }
        }
        throw error
      }
    }
  }

  private func commit(_ open: Open) throws(StoreError) {
    do throws(StoreError) {
      try open.commit.run()
    } catch {
      // The log may contain the whole transaction. Then the next process that opens the file finds it
      // committed.
      throw open.connection.isBroken ? error.inDoubt : error
    }
  }

  /// Runs a body on the database, which is opened if necessary. Gives the connection up if a failure means
  /// that it may no longer be usable. A database in memory is then lost for good.
  func use(_ body: (Open) throws(StoreError) -> Void) throws(StoreError) {
    // The open transaction has already checked the file, and handles a failure.
    if let shared { return try body(shared.open) }
    if let lost { throw lost }
    if let closedUntil, clock.now < closedUntil.time { throw closedUntil.error }
    try requireSameFile()
    do throws(StoreError) {
      if open == nil {
        if let path {
          open = try Open(path: path, vfs: vfs)
          file = file ?? SQLiteFile.Identity(path)
          try requireSameFile()
        } else {
          open = try Open()
        }
      }
      guard let open else { preconditionFailure("no file after opening it") }
      try body(open)
      closedUntil = nil
      backOff.succeeded()
    } catch {
      if error.kind == .full { makeRoom() }
      if open?.connection.isBroken ?? true {
        open = nil
        closedUntil = (clock.now + backOff.failed(), error)
        if path == nil {
          lost = StoreError(
            .unavailable, "memory", "the state in memory is lost, restart the server: \(error)")
        }
      }
      throw error
    }
  }

  /// Moves the log into the database, which frees the log's room. This fails if the database has to grow and
  /// the volume has no room for it. At most once a second, because a log can be long.
  private func makeRoom() {
    guard let open, !open.connection.isBroken, !open.connection.isInTransaction, clock.now >= nextRoom else {
      return
    }
    nextRoom = clock.now + .seconds(1)
    // If this fails, the volume is as full as before, and the caller gets the first error.
    do throws(StoreError) { try open.connection.emptyLog() } catch {}
  }

  /// Fails for good once the file was removed or replaced: what is written to the open file is lost with this
  /// process, and the other file may be older than what callers were promised.
  private func requireSameFile() throws(StoreError) {
    guard let path else { return }
    isReplaced = isReplaced || open?.connection.hasMoved == true
    if let file, SQLiteFile.Identity(path) != file { isReplaced = true }
    guard !isReplaced else {
      throw StoreError(
        .unavailable, StoreError.replacedFile,
        "\(path) was replaced or removed while this server used it: restart the server")
    }
  }
}
