// The protocol for state that outlives a request: allowances, the kill switch and callbacks.

public import Gate

/// Where state is kept. Every function may be called from anywhere, fails within seconds where it fails, and works
/// again by itself when what it needs is back.
public protocol Store: AllowanceStore, StopStore, CallbackStore, AppointmentStore, InstallationStore,
  NoticeStore, CallbackNoticeStore, OutcomeStore, ReportStore, TriggerStore, AuditAnchorStore, KeyStore,
  SharedSecretStore, LoginStore, ScreeningStore, ProvenNumberStore, NumberKeyStore,
  BlockedNumberStore
{
  /// Who else may write to it.
  var sharing: StoreSharing { get }

  /// The health of the store, from its last operations.
  var health: StoreHealth { get }

  /// Brings the schema up to date, under a lock: of many that start together one does it and the others wait. Requests of instances
  /// that serve go on meanwhile. Doing it again changes nothing.
  func migrate(_ wait: MigrationWait) async throws(StoreError)

  /// Looks at it from beside the server that uses it, and changes nothing. Fails where this process could not write to it.
  ///
  /// - Returns: the version of its schema, 0 where it has none; `StoreSchema.latest` is this release's.
  func inspect() async throws(StoreError) -> Int

  /// Tests the store with a write, and compares this machine's clock with the store's if it has one. `health` shows the result. Call
  /// it every few seconds.
  func ping() async throws(StoreError)

  /// Callbacks of every caller, the newest first.
  func callbacks(_ query: CallbackQuery) async throws(StoreError) -> [StoredCallback]

  /// Forgets allowances' states that say no more than none, and callbacks' keys, places, codes and records whose time is over;
  /// nothing of a pending one.
  /// So are stops that ended some time ago, claims and notices after a day, and logins after 30 days.
  ///
  /// - Returns: The number of deleted rows.
  @discardableResult func purge(at now: Instant) async throws(StoreError) -> Int

  /// Finishes running operations and closes the store. Later operations fail.
  func close() async
}

extension Store {
  /// Brings the schema up to date, and waits no longer than a server that starts may.
  public func migrate() async throws(StoreError) { try await migrate(MigrationWait(.seconds(90))) }
}

/// Who else may write to a store.
public enum StoreSharing: Sendable {
  /// No other process: the store ends with this one.
  case process
  /// Usually no other process, but another one on this machine could.
  case machine
  /// Other instances.
  case instances
}
