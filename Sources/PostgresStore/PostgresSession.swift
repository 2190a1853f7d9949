// The work of a store on one PostgreSQL connection, on the queue that owns it.

import Gate
import Platform
import Store

/// A connection that is made with the first use and again, with a back-off, after it broke.
final class PostgresSession: StoreSession {
  /// How long a connection may take to be made, and a few statements to be answered.
  static let span = Duration.seconds(3)

  private let address: PostgresAddress
  let clock: any TimeSource
  private var connection: PostgresConnection?
  /// The mark of the connection's last transaction.
  private var mark = PostgresMark()
  var ids: StoreIDMaker?

  let instance: PostgresInstance

  init(_ address: PostgresAddress, _ instance: PostgresInstance, _ clock: any TimeSource) {
    self.address = address
    self.instance = instance
    self.clock = clock
  }

  func close() { connection = nil }

  /// Makes the connection and reads the version of the schema. Where that fails, its first use does it.
  func open() {
    do throws(StoreError) {
      try use { connection throws(PostgresFailure) in _ = try self.maker(connection) }
    } catch {}
  }

  // MARK: Allowances

  /// Runs all jobs in one transaction, which takes effect at most once: where its COMMIT was not answered, its mark
  /// says whether it was committed before anything is done again.
  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    // The transaction whose COMMIT may have been sent and was not answered, and whether a callback began in it.
    var doubtful: PostgresMark?
    var hasBegun = false
    do throws(StoreError) {
      try use { connection throws(PostgresFailure) in
        if let mark = doubtful {
          let isCommitted = mark.isCommitted(try connection.run([mark.question], within: Self.span)[0])
          doubtful = nil
          // What the jobs said in it is what counts.
          if isCommitted { return }
        }
        try self.update(jobs, connection, &doubtful, &hasBegun)
      }
    } catch {
      guard let doubtful else { throw error }
      if hasBegun { instance.doubt(doubtful) }
      throw error.inDoubt
    }
  }

  private func update(
    _ jobs: [UpdateJob], _ connection: PostgresConnection, _ doubtful: inout PostgresMark?,
    _ hasBegun: inout Bool
  ) throws(PostgresFailure) {
    var working = WorkingSet(jobs, ids: try maker(connection))
    guard !working.isEmpty else { return working.run(instance: instance.number) }
    hasBegun = !working.begins.isEmpty
    // Who begins something is known to be alive before that is there.
    if hasBegun { try live(connection) }
    let mark = self.mark.next()
    try lock(&working, connection, mark)
    working.run(instance: instance.number)
    guard working.isChanged else {
      _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
      return
    }
    var commands = PostgresCallbacks.commands(for: working.book)
    if !working.writes.isEmpty {
      commands.append(.prepared(PostgresStatements.put, Self.parameters(working.writes)))
    }
    do throws(PostgresFailure) {
      _ = try connection.run(commands + [.plain("COMMIT")], within: Self.span)
    } catch {
      if error.leavesDoubt { doubtful = mark }
      throw error
    }
  }

  /// Waits for transactions in which callbacks may have begun, so that what is withdrawn now cannot begin later.
  ///
  /// - Returns: whether all of them have ended.
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
          // 55P03, the lock was not to be had: the transaction is still open, and nothing is wrong with the store.
          guard error.state == "55P03" else { throw error }
          hasEnded = false
        }
      }
    }
    return hasEnded
  }

  func states(of keys: [AllowanceKey]) throws(StoreError) -> [AllowanceState?] {
    var states: [AllowanceState?] = []
    try use { connection throws(PostgresFailure) in
      let maker = try self.maker(connection)
      let ids = keys.map { maker.id(of: $0) }
      let found = try connection.run(
        [.prepared(PostgresStatements.read, [PostgresText.array(ids.map(\.hex))])], within: Self.span)
      let kept = Dictionary(Self.states(found[0]), uniquingKeysWith: { first, _ in first })
      states = ids.map { kept[$0] ?? nil }
    }
    return states
  }

  func purge(at seconds: Int64, most: Int) throws(StoreError) -> Int {
    var removed = 0
    try use { connection throws(PostgresFailure) in
      removed = try connection.run(
        [.prepared(PostgresStatements.purge, ["\(seconds)", "\(most)"])], within: Self.span)[0].changed
    }
    return removed
  }

  /// Rows of id, mark and count; a row without a mark was made to be locked, or is to be forgotten.
  static func states(_ found: PostgresRows) -> [(StoreID, AllowanceState?)] {
    found.rows.compactMap { row in
      guard let id = row[0].flatMap({ StoreID(hex: $0) }) else { return nil }
      guard let mark = row[1].flatMap({ Int64($0) }), let used = row[2].flatMap({ Int64($0) }) else {
        return (id, nil)
      }
      return (id, AllowanceState(mark: mark, count: used))
    }
  }

  /// Four arrays of the same length.
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

  /// A new connection, with what its server is known for.
  private func connect() throws(PostgresFailure) -> PostgresConnection {
    let made = try instance.route.connect(to: address, within: Self.span)
    instance.health.found(unsafe: made.unsafeSettings)
    return made
  }

  /// Runs something on the connection; again on a new one where it breaks, which it may have done since its last use,
  /// and where the server asks for that.
  ///
  /// What broke may have been done, so this is for what does no harm when it is done twice: reads, and
  ///
  /// | what | twice |
  /// |---|---|
  /// | `updateAll` | never done twice: it looks for its mark first |
  /// | `stop`, `resume` | the stop that is there keeps its time; what is gone is gone |
  /// | `recover` | what is unknown stays so; fewer are counted |
  /// | `live`, `leave`, `purge`, `settleDoubts` | says the same again |
  /// | `updateKeys` | reads the keys again, under their lock |
  /// | `migrate` | reads the version again, under its lock |
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
        guard let connection else { preconditionFailure("made just now") }
        try body(connection)
        instance.route.succeeded()
        return
      } catch {
        if error.isConnectionLost {
          connection = nil
          // Elsewhere may be another database with another key.
          ids = nil
          // A time-out has used the time there was, and nobody is there to be asked who does not let anybody in.
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
