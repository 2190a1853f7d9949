// A store over database sessions: every kind of store, whatever its sessions talk to.

package import Gate

/// A store whose work runs in sessions, each on a queue of its own. Updates that wait are committed together.
///
/// Each function passes its work on: `commit` for what shares a transaction with others, `sessions.call` for the rest, with what its
/// success says about the store's health.
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
      .reads, isProbe: true, { session throws(StoreError) in try session.migrate(wait) })
    {
      // Another process that serves the file gets its turn. Cancelled, the upgrade goes on without pauses.
      try? await Task.sleep(for: .milliseconds(150))
    }
    // A connection is judged by the schema that it meets first: those made now can be used when a newer release has changed it.
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
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try await sessions.update(keys, body)
  }

  package func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    guard !keys.isEmpty else { return [] }
    return try await sessions.call(.reads) { session throws(StoreError) in try session.states(of: keys) }
  }

  // MARK: Stops

  package func stops() async throws(StoreError) -> StopSet {
    try await sessions.call(.reads, isProbe: true) { session throws(StoreError) in try session.stops() }
  }

  package func stop(_ stop: Stop) async throws(StoreError) {
    try await sessions.call(.writes) { session throws(StoreError) in try session.stop(stop) }
  }

  package func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try await sessions.call(.writes) { session throws(StoreError) in try session.resume(target, action) }
  }

  // MARK: Doubts

  /// Waits for the transactions whose outcome is not known, in stores that may have some.
  func settleDoubts() async throws(StoreError) { try await Session.settleDoubts(shared, sessions) }

  // MARK: Forgetting

  @discardableResult package func purge(at now: Instant) async throws(StoreError) -> Int {
    var total = try await inPortions(2000) { session, most throws(StoreError) in
      try session.purge(at: now.seconds, most: most)
    }
    let seconds = now.seconds - StopSet.lingering
    total += try await sessions.call(.updates) { session throws(StoreError) in
      try session.purgeStops(at: seconds)
    }
    // Claims, who used names of hooks, and notices are forgotten after a day.
    let day = now.claimHorizon
    total += try await inPortions { session, most throws(StoreError) in
      try session.purgeNames(usedUpTo: day, most: most)
    }
    total += try await inPortions { session, most throws(StoreError) in
      try session.purgeClaims(madeUpTo: day, most: most)
    }
    total += try await inPortions { session, most throws(StoreError) in
      try session.purgeNotices(madeUpTo: day, most: most)
    }
    for table in CallbackTable.allCases {
      total += try await inPortions { session, most throws(StoreError) in
        try session.purge(table, at: now, most: most)
      }
    }
    try await sessions.call(.updates) { session throws(StoreError) in try session.purgeInstances() }
    return total
  }

  /// Deletes in portions, so that other work gets its turn between.
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
