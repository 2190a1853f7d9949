// The protocol for everything that the server saves: allowances, stops, callbacks, installations and more.

public import Gate

/// The saved state of all instances. Any task may call any function. A function that fails does so within
/// seconds, and works again as soon as the database or disk does.
public protocol Store: AllowanceStore, StopStore, CallbackStore, AppointmentStore, InstallationStore,
  NoticeStore, CallbackNoticeStore, OutcomeStore, ReportStore, TriggerStore, AuditAnchorStore, KeyStore,
  SharedSecretStore, LoginStore, ScreeningStore, ProvenNumberStore, NumberKeyStore,
  BlockedNumberStore
{
  /// The other processes that may write to the store.
  var sharing: StoreSharing { get }

  /// The health of the store, from its last operations.
  var health: StoreHealth { get }

  /// Brings the schema up to date, under a lock: if many instances start together, one does it and the others
  /// wait. Instances that are already serving continue to serve requests. Another call changes nothing.
  func migrate(_ wait: MigrationWait) async throws(StoreError)

  /// Reads the version of the schema, even while a server uses the store, and changes nothing. Fails if this
  /// process could not write to the store.
  ///
  /// - Returns: The version of the schema; 0 if there is none. `StoreSchema.latest` is the version of this
  ///   release.
  func inspect() async throws(StoreError) -> Int

  /// Tests the store with a write. If the store has its own clock, also compares this machine's clock with
  /// it. `health` shows the result. Call this function every few seconds.
  func ping() async throws(StoreError)

  /// A page of the callbacks of all callers, the newest first.
  func callbacks(_ query: CallbackQuery) async throws(StoreError) -> [StoredCallback]

  /// Deletes what has expired: allowance states that no longer differ from unused ones, and the keys, dedupe
  /// entries, codes and records of callbacks. Of a `scheduled` or `pending` callback, only the dedupe entry
  /// is deleted. Proven numbers and verdicts are deleted after their end, blocks and stops a minute after
  /// theirs, claims and notifications after a day, and logins after 30 days. In PostgreSQL, the rows of
  /// instances and connections that are gone are deleted, too, and not counted.
  ///
  /// - Returns: The number of rows that were deleted or in which a value was wiped.
  @discardableResult func purge(at now: Instant) async throws(StoreError) -> Int

  /// Finishes running operations and closes the store. Waiting and later operations fail.
  func close() async
}

extension Store {
  /// Brings the schema up to date, and waits at most 90 s, as long as a starting server may.
  public func migrate() async throws(StoreError) { try await migrate(MigrationWait(.seconds(90))) }
}

/// The other processes that may write to a store.
public enum StoreSharing: Sendable {
  /// No other process: the store ends with this one.
  case process
  /// Usually no other process, but another one on this machine could.
  case machine
  /// Other instances of the server, on any machine.
  case instances
}
