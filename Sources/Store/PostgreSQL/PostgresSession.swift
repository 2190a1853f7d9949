// What a store does with one of its connections to PostgreSQL, on the queue that owns it.

internal import Gate
internal import Platform

/// A connection that is made with the first use and again, with a back-off, after it broke.
final class PostgresSession: StoreSession {
  /// How long a connection may take to be made, and a few statements to be answered.
  static let span = Duration.seconds(3)

  private let address: PostgresAddress
  let clock = SystemClock()
  private var connection: PostgresConnection?
  var ids: StoreIDMaker?
  private var backOff = BackOff()
  var closedUntil: (time: MonotonicTime, error: StoreError)?

  let instance: PostgresInstance

  init(_ address: PostgresAddress, _ instance: PostgresInstance) {
    self.address = address
    self.instance = instance
  }

  func close() { connection = nil }

  // MARK: Allowances

  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    try use { connection throws(PostgresFailure) in
      var working = WorkingSet(jobs, ids: try self.maker(connection))
      guard !working.isEmpty else { return working.run(instance: self.instance.number) }
      // Who begins something is known to be alive before that is there.
      if !working.begins.isEmpty { try self.live(connection) }
      try self.lock(&working, connection)
      working.run(instance: self.instance.number)
      guard working.isChanged else {
        _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
        return
      }
      var commands = PostgresCallbacks.commands(for: working.book)
      if !working.writes.isEmpty {
        commands.append(.prepared(PostgresStatements.put, Self.parameters(working.writes)))
      }
      _ = try connection.run(commands + [.plain("COMMIT")], within: Self.span)
    }
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

  /// Runs something on the connection; once more on a new one where it had broken since its last use, and again
  /// where the server asks for that.
  func use(_ body: (PostgresConnection) throws(PostgresFailure) -> Void) throws(StoreError) {
    if let closedUntil, clock.now < closedUntil.time { throw closedUntil.error }
    var isFresh = false
    var attempts = 0
    while true {
      attempts += 1
      do throws(PostgresFailure) {
        if connection == nil {
          isFresh = true
          connection = try PostgresConnection(address, within: Self.span)
        }
        guard let connection else { preconditionFailure("made just now") }
        try body(connection)
        closedUntil = nil
        backOff.succeeded()
        return
      } catch {
        if error.isConnectionLost {
          connection = nil
          // Elsewhere may be another database with another key.
          ids = nil
          // A time-out has used the time there was.
          if !isFresh, error.operation != "wait" { continue }
          closedUntil = (clock.now + backOff.failed(), error.storeError)
          throw error.storeError
        }
        guard error.isTransient, attempts < 4 else { throw error.storeError }
      }
    }
  }
}
