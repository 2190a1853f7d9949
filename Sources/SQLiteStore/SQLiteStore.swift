// The store in one SQLite file, which survives restarts and needs no server.

public import Gate
public import Store

/// A store in an SQLite file, in its write-ahead mode. A function returns when the disk has its change.
///
/// One queue owns the connection, and updates that wait are committed together. Two processes may share the file and are
/// both right, since each transaction takes the file's lock before it reads.
///
/// A disk that hangs keeps the queue in a system call that nothing ends. Tasks that wait get an error after 5 to 6 s, in doubt where
/// the change may be made yet. The store refuses new work at once until the call returns.
public final class SQLiteStore: Store {
  let sessions: SessionQueue<SQLiteSession>
  public let health: StoreHealth

  /// A store in a file, which is opened with the first use, and made, with mode 0600, if it is not there.
  public convenience init(path: String) { self.init(path: path, vfs: nil) }

  /// A store on a disk of the caller's.
  ///
  /// - Parameters:
  ///   - vfs: The name of SQLite's interface to the operating system; nil for the usual one.
  ///   - patience: The longest wait of callers.
  init(path: String, vfs: String?, patience: Duration = .seconds(5)) {
    let health = StoreHealth()
    self.health = health
    sessions = SessionQueue(label: "callgate.sqlite", patience: patience, health: health) {
      SQLiteSession(path: path, vfs: vfs)
    }
  }

  public var sharing: StoreSharing { .machine }

  public func migrate(_: MigrationWait) async throws(StoreError) {
    while try await !sessions.call(
      .reads, isProbe: true, { session throws(StoreError) in try session.migrate() })
    {
      // Another process that serves the file gets its turn. Cancelled, the upgrade goes on without pauses.
      try? await Task.sleep(for: .milliseconds(150))
    }
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
    try await sessions.call(.reads) { session throws(StoreError) in try session.states(of: keys) }
  }

  public func callbacks(_ query: CallbackQuery) async throws(StoreError) -> [StoredCallback] {
    try await sessions.call(.reads) { session throws(StoreError) in try session.callbacks(query) }
  }

  @discardableResult public func purge(at now: Instant) async throws(StoreError) -> Int {
    var total = 0
    while true {
      // In portions, so that waiting jobs can run in between.
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

  public func close() async { await sessions.close() }
}
