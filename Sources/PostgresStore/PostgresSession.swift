// The work of a store on one PostgreSQL connection, on the queue that owns it.

package import Gate
import Platform
package import Store

/// A connection that is made at the first use and again, with a back-off, after it broke.
package final class PostgresSession: DatabaseSession {
  package typealias Shared = PostgresInstance

  package static let portion = 2000
  /// False, because sessions commit in parallel and the server flushes for all of them at once.
  package static let sharesTransactions = false
  /// Recovery saves a heartbeat each time.
  package static let recovery = StoreHealth.Effect.writes
  /// The longest wait for a new connection, and for the responses to a few statements.
  static let span = Duration.seconds(3)

  var clock: any TimeSource { instance.clock }
  private var connection: PostgresConnection?
  /// The mark of the connection's last transaction.
  private var mark = PostgresMark()
  var ids: StoreIDMaker?

  let instance: PostgresInstance

  init(_ instance: PostgresInstance) { self.instance = instance }

  package func close() { connection = nil }

  /// Makes the connection and reads the version of the schema. If that fails, the first use tries again.
  package func open() {
    do throws(StoreError) {
      try use { connection throws(PostgresFailure) in _ = try self.maker(connection) }
    } catch {}
  }

  // MARK: Allowances

  /// Runs all jobs in one transaction, which takes effect at most once: if its COMMIT gets no response, the
  /// session first reads from the mark whether it was committed, and repeats it only if it was not.
  package func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    var isFoundOut = false
    let body = {
      (connection: PostgresConnection, mark: PostgresMark) throws(PostgresFailure) -> [PostgresCommand]? in
      var working = WorkingSet(jobs, ids: try self.maker(connection))
      guard !working.isEmpty else {
        working.run(instance: self.instance.number, at: self.instance.health.turn())
        return nil
      }
      isFoundOut = working.isFoundOut
      // Save this process's heartbeat before its first record: recovery must not take the record for
      // orphaned.
      if working.startsCallbacks { try self.signalLife(connection) }
      try self.lock(&working, connection, mark, counts: jobs.allSatisfy(\.counts))
      working.run(
        instance: self.instance.number, at: self.instance.health.turn(database: working.databaseTime))
      return working.isChanged ? self.commands(for: working) : []
    }
    try once(body, onDoubt: { if isFoundOut { instance.doubt($0) } })
  }

  /// Runs one transaction, which takes effect at most once: if its COMMIT gets no response, the session first
  /// reads from the mark whether it was committed, and repeats it only if it was not.
  ///
  /// - Parameters:
  ///   - body: Begins the transaction with its mark, and reads. Returns the writes, empty to roll back; nil
  ///     if it has not begun one.
  ///   - onDoubt: Gets the mark of a transaction that may or may not have been committed.
  func once(
    _ body: (PostgresConnection, PostgresMark) throws(PostgresFailure) -> [PostgresCommand]?,
    onDoubt: (PostgresMark) -> Void = { _ in }
  ) throws(StoreError) {
    var doubtful: PostgresMark?
    do throws(StoreError) {
      try use { connection throws(PostgresFailure) in
        if let mark = doubtful {
          let isCommitted = mark.isCommitted(try connection.run([mark.question], within: Self.span)[0])
          doubtful = nil
          // The body's last result counts.
          if isCommitted { return }
        }
        let mark = self.mark.next()
        guard let commands = try body(connection, mark) else { return }
        guard !commands.isEmpty else {
          _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
          return
        }
        do throws(PostgresFailure) {
          _ = try connection.run(commands + [.plain("COMMIT")], within: Self.span)
        } catch {
          if error.leavesDoubt { doubtful = mark }
          throw error
        }
      }
    } catch {
      guard let doubtful else { throw error }
      onDoubt(doubtful)
      throw error.inDoubt
    }
  }

  package static func settleDoubts(
    _ instance: PostgresInstance, _ sessions: SessionQueue<PostgresSession>
  ) async throws(StoreError) {
    let open = StoreError(.unavailable, "doubt", "a transaction that may save the record has not ended")
    guard instance.hasDoubts else { return }
    guard let marks = instance.lookAtDoubts(at: instance.clock.now) else { throw open }
    var isAll = false
    defer { instance.looked(isAll: isAll, at: instance.clock.now) }
    isAll = try await sessions.call(.updates) { session throws(StoreError) in
      try session.settleDoubts(marks)
    }
    guard isAll else { throw open }
  }

  /// Waits for transactions in doubt, so that a withdrawn callback cannot begin later, and it is known
  /// whether an appointment was booked or ended, or an installation was changed.
  ///
  /// - Returns: Whether all of them have ended.
  func settleDoubts(_ marks: [PostgresMark]) throws(StoreError) -> Bool {
    var hasEnded = true
    for mark in marks where hasEnded {
      try use { connection throws(PostgresFailure) in
        _ = try self.maker(connection)
        do throws(PostgresFailure) {
          _ = try connection.run(
            [
              .plain("BEGIN"), .plain("SET LOCAL lock_timeout = '500ms'"), mark.question, .plain("COMMIT"),
            ], within: Self.span)
          self.instance.ended(mark)
        } catch {
          // 55P03, the lock is not available: the transaction is still open, and nothing is wrong with the
          // store.
          guard error.state == "55P03" else { throw error }
          hasEnded = false
        }
      }
    }
    return hasEnded
  }

  package func states(of keys: [AllowanceKey]) throws(StoreError) -> [AllowanceState?] {
    var states: [AllowanceState?] = []
    try use { connection throws(PostgresFailure) in
      let maker = try self.maker(connection)
      let ids = keys.map { maker.id(of: $0) }
      let found = try connection.run(
        [.prepared(PostgresStatements.read, [PostgresText.array(ids.map(\.hex))])], within: Self.span)
      let kept = Dictionary(try Self.states(found[0]), uniquingKeysWith: { first, _ in first })
      states = ids.map { kept[$0] ?? nil }
    }
    return states
  }

  // MARK: Queries and changes

  package func rows<Row>(_ query: Query<Row>, _ values: [ColumnValue]) throws(StoreError) -> [Row] {
    try read(PostgresCommand(query, values)) { rows throws(PostgresFailure) in
      try rows.map { row throws(PostgresFailure) in try row.read(query) }
    }
  }

  package func change(_ calls: [ChangeCall]) throws(StoreError) -> Int {
    let commands = calls.map { PostgresCommand($0) }
    var changed = 0
    // Whether a COMMIT may have been sent that was not answered.
    var isInDoubt = false
    do throws(StoreError) {
      try use { connection throws(PostgresFailure) in
        _ = try self.maker(connection)
        do throws(PostgresFailure) {
          let found = try connection.run([.plain("BEGIN")] + commands + [.plain("COMMIT")], within: Self.span)
          changed = found.dropFirst().dropLast().reduce(0) { $0 + $1.changed }
        } catch {
          isInDoubt = isInDoubt || error.leavesDoubt
          throw error
        }
      }
    } catch {
      throw isInDoubt ? error.inDoubt : error
    }
    return changed
  }

  /// Locks the table in a separate round trip, so that changes of several instances come one after the other.
  /// The server ends the transaction if its changes do not follow within two seconds, before this session
  /// gives up waiting for the answer to them. So changes that the network delivers late find no transaction.
  package func changeStops(_ calls: [ChangeCall]) throws(StoreError) {
    try once { connection, mark throws(PostgresFailure) in
      _ = try self.maker(connection)
      _ = try connection.run(
        [
          .plain("BEGIN"), .plain("SET LOCAL idle_in_transaction_session_timeout = '2s'"), mark.command,
          .plain("LOCK TABLE callgate_stop IN SHARE ROW EXCLUSIVE MODE"),
        ], within: Self.span)
      return calls.map { PostgresCommand($0) }
    }
  }

  /// Allowances from rows of id, mark and count. A row without a mark was made for a lock, or is unused.
  static func states(_ found: PostgresRows) throws(PostgresFailure) -> [(StoreID, AllowanceState?)] {
    try found.rows.map { row throws(PostgresFailure) in
      guard let mark = try row.optionalInteger(1), let used = try row.optionalInteger(2) else {
        return (try row.id(0), nil)
      }
      return (try row.id(0), AllowanceState(mark: mark, count: used))
    }
  }

  /// The commands that write the changes.
  func commands(for working: WorkingSet) -> [PostgresCommand] {
    var commands = PostgresCallbacks.commands(for: working.book)
    if !working.writes.isEmpty {
      commands.append(.prepared(PostgresStatements.put, Self.parameters(working.writes)))
    }
    return commands
  }

  /// The parameters of `PostgresStatements.put`: four arrays of the same length.
  private static func parameters(_ writes: [StoreID: AllowanceWrite]) -> [String?] {
    var ids: [String] = []
    var marks: [String] = []
    var used: [String] = []
    var expiries: [String] = []
    for (id, write) in writes {
      switch write {
      case .keep: continue
      case .put(let state, let expiry):
        marks.append("\(state.mark)")
        used.append("\(state.count)")
        expiries.append("\(coarseExpiry(expiry))")
      case .remove:
        marks.append("NULL")
        used.append("NULL")
        expiries.append("0")
      }
      ids.append(id.hex)
    }
    return [ids, marks, used, expiries].map { PostgresText.array($0) }
  }

  // MARK: The connection

  /// Makes a connection and records unsafe settings of its server. If the database refuses the login, the
  /// address is read again and, if it has changed, tried once more.
  func connect() throws(PostgresFailure) -> PostgresConnection {
    let address = instance.login.address
    let made: PostgresConnection
    do throws(PostgresFailure) {
      made = try instance.route.connect(to: address, within: Self.span)
    } catch {
      guard error.isRefusedLogin, instance.login.refresh(after: address) else { throw error }
      made = try instance.route.connect(to: instance.login.address, within: Self.span)
    }
    instance.health.found(unsafe: made.unsafeSettings)
    return made
  }

  /// Fails if a pooler gives each transaction another session of the server. Prepared statements, settings
  /// and locks get lost there.
  ///
  /// Only a proxy reports another process than the server does. A pooler in session mode never gives two
  /// clients one session, and never takes a session away. One in transaction mode gives a free session to the
  /// next client. A busy pooler may escape this check; then the server's errors 42P05 and 26000 show it
  /// later.
  func refusePooler(_ connection: PostgresConnection) throws(PostgresFailure) {
    guard connection.isBehindProxy else { return }
    let other: PostgresConnection
    do throws(PostgresFailure) { other = try connect() } catch {
      // A pooler in session mode may have no second session.
      return
    }
    for _ in 0..<3 {
      let first = try connection.process()
      let second = try other.process()
      guard second != first, try connection.process() == first else { throw .pooler }
    }
  }

  /// Fails if the database cannot save every text. A database without an encoding (SQL_ASCII) saves the bytes
  /// as they are.
  func refuseEncoding(_ connection: PostgresConnection) throws(PostgresFailure) {
    guard let name = connection.encoding, name != "UTF8", name != "SQL_ASCII" else { return }
    throw .encoding(name)
  }

  /// Runs statements on the connection. If the connection breaks, or has broken since its last use, runs them
  /// again on a new one. After a transient error, such as a deadlock, runs them again on the same one.
  ///
  /// The server may have run the statements before the connection broke. So use this only for work that may
  /// run twice: reads, and
  ///
  /// | what | twice |
  /// |---|---|
  /// | `once`, as in `updateAll` and `changeStops` | takes effect once: it reads its mark first |
  /// | `change` | sets the same values again; what is removed stays removed; only serials rise |
  /// | `recover` | an `unknown` record stays so; fewer are counted |
  /// | `signalLife`, `endInstance`, `settleDoubts` | has the same effect again |
  /// | `touchInstallations`, `noteUse`, `finishPurge` | has the same effect again |
  /// | `purgeInstallations` | deletes the next portion; fewer rows are counted |
  /// | `updateKeys` | reads the keys again, under their lock |
  func use(_ body: (PostgresConnection) throws(PostgresFailure) -> Void) throws(StoreError) {
    if connection == nil { try instance.route.check(at: clock.now) }
    var connections = 0
    var attempts = 0
    while true {
      attempts += 1
      do throws(PostgresFailure) {
        if connection == nil {
          connections += 1
          connection = try connect()
          mark = PostgresMark()
        }
        guard let connection else { preconditionFailure("no connection after making it") }
        try body(connection)
        instance.route.succeeded()
        return
      } catch {
        if error.isConnectionLost {
          connection = nil
          // The next connection may reach another database, with another hash key.
          ids = nil
          // After a timeout there is no time left. A server that refused this connection would refuse the
          // next one, too.
          if connections < 2, error.operation != "wait", error.operation != PostgresFailure.connecting {
            continue
          }
          instance.route.failed(error.storeError, at: clock.now)
          throw error.storeError
        }
        guard error.isTransient, attempts < 4 else { throw error.storeError }
      }
    }
  }
}
