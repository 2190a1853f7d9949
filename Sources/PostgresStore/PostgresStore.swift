// The store in a PostgreSQL database that all instances share.

public import Gate
import Platform
public import Store

/// A store in PostgreSQL, version 12 or newer.
///
/// A few connections, each owned by a queue of its own; updates that wait are committed together. A transaction locks
/// its rows before it reads them, in one order, so instances count exactly together and do not wait in circles. Times are the
/// instances', not the server's. If clocks differ by a second, a limit shifts by its share of a second.
public final class PostgresStore: Store {
  let sessions: SessionQueue<PostgresSession>
  public let health: StoreHealth
  let instance: PostgresInstance
  let clock: any TimeSource

  /// A store in a database. `migrate` makes all connections, otherwise the first use of each.
  ///
  /// - Parameter connections: The most connections, 1 to 64.
  public convenience init(_ address: PostgresAddress, connections: Int = 3) {
    self.init(address, connections: connections, clock: SystemClock())
  }

  /// A store with a given clock.
  init(_ address: PostgresAddress, connections: Int, clock: any TimeSource) {
    precondition((1...64).contains(connections))
    let health = StoreHealth(hasClock: true)
    self.health = health
    let instance = PostgresInstance(health)
    self.instance = instance
    self.clock = clock
    sessions = SessionQueue(label: "callgate.postgres", count: connections, health: health) {
      PostgresSession(address, instance, clock)
    }
  }

  public var sharing: StoreSharing { .instances }

  public func migrate(_ wait: MigrationWait) async throws(StoreError) {
    try await sessions.call(.reads, isProbe: true) { session throws(StoreError) in try session.migrate(wait) }
    // A connection is judged by the schema that it meets first: those made now can be used when a newer release has changed it.
    await sessions.inEach { $0.open() }
  }

  public func inspect() async throws(StoreError) -> Int {
    try await sessions.call(.reads) { session throws(StoreError) in try session.inspect() }
  }

  public func ping() async throws(StoreError) {
    try await sessions.call(.writes, isProbe: true) { session throws(StoreError) in try session.ping() }
  }

  public func update<Result: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try await sessions.update(keys, body)
  }

  public func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    guard !keys.isEmpty else { return [] }
    return try await sessions.call(.reads) { session throws(StoreError) in try session.states(of: keys) }
  }

  public func callbacks(_ query: CallbackQuery) async throws(StoreError) -> [StoredCallback] {
    try await sessions.call(.reads) { session throws(StoreError) in try session.callbacks(query) }
  }

  @discardableResult public func purge(at now: Instant) async throws(StoreError) -> Int {
    var total = 0
    while true {
      let removed = try await sessions.call(.updates) { session throws(StoreError) in
        try session.purge(at: now.seconds, most: 2000)
      }
      total += removed
      if removed < 2000 { break }
    }
    let seconds = now.seconds - StopSet.lingering
    total += try await sessions.call(.updates) { session throws(StoreError) in
      try session.purgeStops(at: seconds)
    }
    total += try await purgeClaims(at: now)
    total += try await purgeNotices(at: now)
    return total + (try await purgeCallbacks(at: now))
  }

  public func close() async {
    // If this fails, the instance counts as gone after ten seconds without a sign of life.
    do throws(StoreError) {
      try await sessions.call(.writes) { session throws(StoreError) in try session.endInstance() }
    } catch {}
    await sessions.close()
  }
}
