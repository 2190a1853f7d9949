// State in a PostgreSQL database that all instances share.

public import Gate

/// A store in PostgreSQL, version 12 or newer.
///
/// A few connections, each owned by a queue of its own; updates that wait are committed together. A transaction locks
/// its rows before it reads them, in one order, so instances are exact together and do not wait in circles. The times
/// in it are the instances', not the server's: clocks that differ by a second shift limits by what a second is worth.
public final class PostgresStore: Store {
  let sessions: SessionQueue<PostgresSession>
  let instance: PostgresInstance

  /// A store in a database, which is connected to with the first use.
  ///
  /// - Parameter connections: how many connections it may have, 1 to 64.
  public init(_ address: PostgresAddress, connections: Int = 3) {
    precondition((1...64).contains(connections))
    let instance = PostgresInstance()
    self.instance = instance
    sessions = SessionQueue(label: "callgate.postgres", count: connections) {
      PostgresSession(address, instance)
    }
  }

  public var sharing: StoreSharing { .instances }

  public func migrate() async throws(StoreError) {
    try await sessions.call { session throws(StoreError) in try session.migrate() }
  }

  public func ping() async throws(StoreError) {
    try await sessions.call { session throws(StoreError) in try session.ping() }
  }

  public func update<Result: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try await sessions.update(keys, body)
  }

  public func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    guard !keys.isEmpty else { return [] }
    return try await sessions.call { session throws(StoreError) in try session.states(of: keys) }
  }

  public func stops() async throws(StoreError) -> StopSet {
    try await sessions.call { session throws(StoreError) in try session.stops() }
  }

  public func stop(_ stop: Stop) async throws(StoreError) {
    try await sessions.call { session throws(StoreError) in try session.stop(stop) }
  }

  public func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try await sessions.call { session throws(StoreError) in try session.resume(target, action) }
  }

  @discardableResult public func purge(at now: Instant) async throws(StoreError) -> Int {
    var total = 0
    while true {
      let removed = try await sessions.call { session throws(StoreError) in
        try session.purge(at: now.seconds, most: 2000)
      }
      total += removed
      if removed < 2000 { return total + (try await purgeCallbacks(at: now)) }
    }
  }

  public func close() async {
    // Where nobody hears it, ten seconds without a sign of life say the same.
    do throws(StoreError) {
      try await sessions.call { session throws(StoreError) in try session.leave() }
    } catch {}
    await sessions.close()
  }
}
