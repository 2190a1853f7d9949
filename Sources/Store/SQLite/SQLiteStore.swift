// State in one SQLite file: survives restarts, needs no server.

public import Gate

/// A store in an SQLite file, in its write-ahead mode. An update returns when the disk has it, and a settlement when the file
/// has it: that survives the process, and the disk has it a flush and some 20 ms later.
///
/// One queue owns the connection; updates that wait are committed together, and flushed together on another. Two processes may share the file and are
/// both right, since each transaction takes the file's lock before it reads.
public final class SQLiteStore: Store {
  let sessions: SessionQueue<SQLiteSession>

  /// A store in a file, which is opened with the first use, and made, with mode 0600, if it is not there.
  public convenience init(path: String) { self.init(path: path, flush: SQLiteLog.dataSync) }

  /// A store that flushes with a function of the caller's.
  ///
  /// - Parameter patience: how long the disk may take for a flush.
  init(path: String, flush: @escaping SQLiteLog.Flush, patience: Duration = .seconds(5)) {
    sessions = SessionQueue(label: "callgate.sqlite", count: 1, closing: patience * 3) {
      SQLiteSession(path: path, flush: flush, patience: patience)
    }
  }

  public var sharing: StoreSharing { .machine }

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
    try await sessions.call { session throws(StoreError) in try session.states(of: keys) }
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
      // In portions, so that what waits gets its turn between.
      let removed = try await sessions.call { session throws(StoreError) in
        try session.purge(at: now.seconds, most: 2000)
      }
      total += removed
      if removed < 2000 { return total + (try await purgeCallbacks(at: now)) }
    }
  }

  public func close() async { await sessions.close() }
}
