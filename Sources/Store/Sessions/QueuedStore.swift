// The only implementation of `Store`: runs the work in sessions of SQLite (also in memory) or PostgreSQL.

package import Gate
import Platform

/// A store whose work runs in database sessions, each on its own queue. Updates that wait are committed
/// together.
///
/// Each function passes its work to `commit` if it can share a transaction with others. Otherwise it passes
/// the work to `sessions.call`, and says with a `StoreHealth.Effect` what a success shows: whether the store
/// can be read, or also written.
package final class QueuedStore<Session: DatabaseSession>: Store {
  package let sessions: SessionQueue<Session>
  package let sharing: StoreSharing
  package let health: StoreHealth
  private let shared: Session.Shared

  package init(
    _ sessions: SessionQueue<Session>, shared: Session.Shared, sharing: StoreSharing, health: StoreHealth
  ) {
    self.sessions = sessions
    self.shared = shared
    self.sharing = sharing
    self.health = health
  }

  package func migrate(_ wait: MigrationWait) async throws(StoreError) {
    while try await !sessions.call(
      .reads, isProbe: true, mayTakeLong: true, { session throws(StoreError) in try session.migrate(wait) })
    {
      // Another process that uses the file gets its turn. After a cancellation, the upgrade continues without
      // pauses.
      try? await Task.sleep(for: .milliseconds(150))
    }
    // A connection checks the schema once, when it opens. Connections that open now still work after a newer
    // release has changed the schema.
    await sessions.inEach { $0.open() }
  }

  package func inspect() async throws(StoreError) -> Int {
    try await sessions.call(.reads) { session throws(StoreError) in try session.inspect() }
  }

  package func ping() async throws(StoreError) {
    try await sessions.call(.writes, isProbe: true) { session throws(StoreError) in try session.ping() }
  }

  package func close() async {
    await Session.leave(shared, sessions)
    await sessions.close()
  }

  // MARK: Allowances

  package func update<Result: Sendable>(
    _ keys: [AllowanceKey], at now: Instant,
    _ body: @escaping @Sendable ([AllowanceState?], Instant) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try await sessions.update(keys, at: now, body)
  }

  package func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    guard !keys.isEmpty else { return [] }
    return try await sessions.call(.reads) { session throws(StoreError) in try session.states(of: keys) }
  }

  package func forgetAllowances() {
    sessions.start(.updates) { session throws(StoreError) in
      let all = ChangeCall(StopStatements.purgeAllowances, .integer(.max), .integer(2000))
      while try session.change([all]) == 2000 {}
    }
  }

  // MARK: Stops

  package func stops() async throws(StoreError) -> StopSet {
    try await sessions.call(.reads, isProbe: true) { session throws(StoreError) in
      StopSet(rows: try session.rows(StopStatements.stops, []))
    }
  }

  package func stop(_ stop: Stop) async throws(StoreError) {
    let (scope, id) = stop.target.parts
    let calls = stop.action.single.map { action in
      StopSet.Row(
        scope: scope, id: id, action: action.rawValue, since: stop.since, until: stop.until,
        reason: stop.reason, by: stop.by
      ).saving
    }
    try await changeStops(stop.target, stop.action, calls)
  }

  package func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try await changeStops(target, action, Self.removals(target, action))
  }

  private static func removals(_ target: Stop.Target, _ action: Stop.Action) -> [ChangeCall] {
    let (scope, id) = target.parts
    return action.single.map { action in
      ChangeCall(StopStatements.resume, .text(scope), .text(id), .text(action.rawValue))
    }
  }

  /// Changes the stops. If the change succeeds after the caller has already got an error, for example because
  /// the disk did not respond, the change is undone. Other stops stay as they are: another process may have
  /// changed them meanwhile.
  private func changeStops(
    _ target: Stop.Target, _ action: Stop.Action, _ calls: [ChangeCall]
  ) async throws(StoreError) {
    _ = try await sessions.call(.writes) { session throws(StoreError) in
      let before = try session.rows(StopStatements.stops, [])
      try session.changeStops(calls)
      return before
    } undo: { session, before in
      // If the disk does not respond again, the next refresh of every instance shows the stops in the store.
      do throws(StoreError) {
        let former = before.filter { $0.isOf(target, action) }
        _ = try session.change(Self.removals(target, action) + former.map(\.saving))
      } catch {}
    }
  }

  // MARK: Transactions in doubt

  /// Waits for the transactions whose outcome is not known, in a store that may have such transactions.
  func settleDoubts() async throws(StoreError) { try await Session.settleDoubts(shared, sessions) }

  // MARK: Deletion

  @discardableResult package func purge(at now: Instant) async throws(StoreError) -> Int {
    var total = try await purge(StopStatements.purgeAllowances, upTo: now.seconds, most: 2000)
    let seconds = ColumnValue.integer(now.seconds.subtractingClamped(StopSet.lingering))
    total += try await sessions.call(.updates) { session throws(StoreError) in
      try session.change([ChangeCall(StopStatements.purge, seconds)])
    }
    // Claims, uses of webhook names, and notifications are deleted after a day.
    for purge in NoticeStatements.purges { total += try await self.purge(purge, upTo: now.claimHorizon) }
    total += try await self.purge(
      NumberStatements.purge, upTo: now.advanced(by: .seconds(-BlockedNumber.lingering)).nanosecondsSinceEpoch
    )
    total += try await self.purge(LoginStatements.purge, upTo: StoredLogin.horizon(now).nanosecondsSinceEpoch)
    total += try await self.purge(ProvenNumberStatements.purge, upTo: now.nanosecondsSinceEpoch)
    total += try await self.purge(ScreeningStatements.purge, upTo: now.nanosecondsSinceEpoch)
    for purge in CallbackStatements.purges {
      total += try await self.purge(purge, upTo: now.nanosecondsSinceEpoch)
    }
    _ = try await inPortions { session, most throws(StoreError) in try session.finishPurge(most: most) }
    return total
  }

  func purge(
    _ purge: Change, upTo time: Int64, most: Int = Session.portion
  ) async throws(StoreError) -> Int {
    try await inPortions(most) { session, most throws(StoreError) in
      try session.change([ChangeCall(purge, .integer(time), .integer(Int64(most)))])
    }
  }

  func rows<Row>(_ query: Query<Row>, _ values: ColumnValue...) async throws(StoreError) -> [Row] {
    try await sessions.call(.reads) { session throws(StoreError) in try session.rows(query, values) }
  }

  /// Runs a change in a session and waits for its commit. If sessions share transactions, the change is part
  /// of the transaction of the waiting updates.
  func join<R: Sendable>(
    _ body: @escaping @Sendable (any DatabaseSession) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    guard Session.sharesTransactions else {
      return try await sessions.call(.updates) { session throws(StoreError) in try body(session) }
    }
    return try await sessions.commit { onResult in
      .session { session throws(StoreError) in onResult(try body(session)) }
    }
  }

  /// Deletes in portions, so that other work can run in between. Returns the number of deleted rows.
  func inPortions(
    _ most: Int = Session.portion,
    _ body: @escaping @Sendable (Session, _ most: Int) throws(StoreError) -> Int
  ) async throws(StoreError) -> Int {
    var total = 0
    while true {
      let removed = try await sessions.call(.updates) { session throws(StoreError) in try body(session, most)
      }
      total += removed
      if removed < most { return total }
    }
  }
}

extension StopSet.Row {
  /// The change that saves the row.
  fileprivate var saving: ChangeCall {
    ChangeCall(
      StopStatements.stop, .text(scope), .text(id), .text(action), .integer(since), .optional(until),
      .optional(reason), .optional(by?.name), .optional(by?.by.rawValue))
  }
}
