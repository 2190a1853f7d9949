// What a store does with its SQLite file, on the queue that owns it.

internal import Gate
internal import Platform

/// A file and the statements for it. It opens with the first use, and again after a failure that the connection may
/// not have survived, with a back-off.
final class SQLiteSession: StoreSession {
  let path: String
  /// This open store, until it is closed; a connection may come and go meanwhile.
  var instance = SQLiteInstance()
  let clock = SystemClock()
  private let flush: SQLiteLog.Flush
  private let flusher: SQLiteFlusher
  let checkpointer: SQLiteCheckpointer
  private var open: Open?
  private var backOff = BackOff()
  var closedUntil: (time: MonotonicTime, error: StoreError)?
  /// Whether a checkpoint has made up for what the disk may have lost before this process.
  private var hasStarted = false

  init(path: String, flush: @escaping SQLiteLog.Flush, patience: Duration) {
    self.path = path
    self.flush = flush
    flusher = SQLiteFlusher(patience: patience)
    checkpointer = SQLiteCheckpointer(path: path)
  }

  func close() {
    // A disk that hangs is not waited for: the file has everything, and the next start begins with a checkpoint.
    if flusher.refusal == nil {
      flusher.drain()
      checkpointer.drain()
      // Not where the database has to be written anew: the next one who is alone with the file does that.
      if !checkpointer.loss.isOpen { open?.connection.checkpointAtEnd() }
    }
    open = nil
    instance.end()
  }

  // MARK: Transactions

  func admit(_ jobs: [UpdateJob]) -> [UpdateJob] {
    guard let refusal = flusher.refusal else { return jobs }
    return jobs.filter { job in
      if job.needsDisk { job.finish(refusal) }
      return !job.needsDisk
    }
  }

  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    try transaction(.later(jobs)) { open throws(StoreError) in
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
    try transaction(.later([])) { open throws(StoreError) in
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

  /// Whether the file can be written, and the disk answers: the lock for writing is taken and let go.
  func ping() throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      return false
    }
  }

  // MARK: The file

  /// Who waits until the disk has a transaction.
  enum Durability {
    /// Whoever runs it: it returns then.
    case now
    /// These jobs, each told when it may know; they may be none.
    case later([UpdateJob])
  }

  /// Runs something in a transaction: committed if it says that there is something to commit. Where it throws, no job has
  /// been told anything.
  func transaction(
    _ durability: Durability = .now, _ body: (Open) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if case .now = durability { try checkDisk() }
    try use { open throws(StoreError) in
      let log = try run(body, in: open)
      switch durability {
      case .now: if let log { try flusher.flush(log) }
      case .later(let jobs): flusher.finish(jobs, wrote: log)
      }
      // Nothing may fail from here on.
      if log != nil { checkpointer.logHas(open.connection.logPages, on: open.connection) }
    }
  }

  /// Runs a transaction.
  ///
  /// - Returns: the log it was written to; nil where nothing was changed.
  private func run(
    _ body: (Open) throws(StoreError) -> Bool, in open: Open
  ) throws(StoreError) -> SQLiteLog? {
    try open.begin.run()
    do throws(StoreError) {
      // Before anything is committed that could not be flushed.
      let log = try open.log(flush)
      let isChanged = try body(open)
      guard isChanged else {
        try open.rollback.run()
        return nil
      }
      try commit(open)
      return log
    } catch {
      // SQLite may have rolled back by itself. Where this fails too, the connection goes.
      if open.connection.isInTransaction {
        do throws(StoreError) { try open.rollback.run() } catch { self.open = nil }
      }
      throw error
    }
  }

  private func commit(_ open: Open) throws(StoreError) {
    do throws(StoreError) {
      try open.commit.run()
    } catch {
      // The log may have all of it: then whoever opens the file next finds it committed.
      throw open.connection.hasIOError ? error.inDoubt : error
    }
  }

  /// Fails where the disk hangs.
  func checkDisk() throws(StoreError) {
    if let refusal = flusher.refusal { throw refusal }
  }

  /// Opens the file if need be, and lets go of it where a failure says that it may not be usable any more.
  func use(_ body: (Open) throws(StoreError) -> Void) throws(StoreError) {
    if let closedUntil, clock.now < closedUntil.time { throw closedUntil.error }
    do throws(StoreError) {
      if flusher.loss.isOpen || checkpointer.loss.isOpen { open = nil }
      if open == nil { open = try opened() }
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

  /// Opens the file, and makes up for what the disk may have lost of it: nothing is built upon that.
  private func opened() throws(StoreError) -> Open {
    if checkpointer.loss.isOpen { try checkpointer.mend() }
    let opened = try Open(path: path)
    if flusher.loss.isOpen {
      try flusher.loss.mend { () throws(StoreError) in
        guard try checkpointer.checkpoint(.truncate, on: opened.connection) else {
          throw StoreError(
            .unavailable, "checkpoint", "a flush has failed, so this has to be, and the file is in use")
        }
      }
    } else if !hasStarted {
      // The process before this one may have been told of a loss and have ended. Where it has not ended it still knows,
      // and may be busy with the file. It can write while pages are moved, and not while what is left of them is.
      try checkpointer.checkpoint(.passive, on: opened.connection)
      try checkpointer.checkpoint(.truncate, on: opened.connection)
    }
    hasStarted = true
    return opened
  }
}
