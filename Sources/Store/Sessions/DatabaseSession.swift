// The protocol for a session with a database: all operations that a store needs from SQLite or PostgreSQL.

package import Gate
package import JOSE

/// A session with a database that has the store's tables. Each function runs one transaction, or reads
/// without one. Changes that share a transaction with others come as jobs instead (`updateAll`).
package protocol DatabaseSession: StoreSession {
  /// The state that all sessions of one open store share.
  associatedtype Shared: Sendable

  /// The maximum number of rows that one deletion removes, because other work waits for it.
  static var portion: Int { get }
  /// Whether `updateAll` runs the work of sessions (`UpdateJob.Work.session`), so that one flush to the disk
  /// is enough for all waiting work.
  static var sharesTransactions: Bool { get }
  /// The conclusion about the store if a recovery succeeds.
  static var recovery: StoreHealth.Effect { get }
  /// Waits for the transactions whose outcome is not known. If one of them is still open, or another task is
  /// already checking them, this function throws. That is not a failure of the store, so `health` does not
  /// change.
  static func settleDoubts(_ shared: Shared, _ sessions: SessionQueue<Self>) async throws(StoreError)
  /// Tells other instances that this one is about to close the store.
  static func leave(_ shared: Shared, _ sessions: SessionQueue<Self>) async

  // MARK: The database

  /// Runs one part of an upgrade of the schema.
  ///
  /// - Returns: Whether the schema is up to date.
  func migrate(_ wait: MigrationWait) throws(StoreError) -> Bool
  /// Connects before the first use, unless the session is connected.
  func open()
  func inspect() throws(StoreError) -> Int
  func ping() throws(StoreError)

  // MARK: Statements for every database

  func rows<Row>(_ query: Query<Row>, _ values: [ColumnValue]) throws(StoreError) -> [Row]
  /// Makes changes in one transaction.
  ///
  /// - Returns: The number of changed rows.
  func change(_ calls: [ChangeCall]) throws(StoreError) -> Int
  /// Makes changes of stops, as `StopStore` promises: after every earlier change of another instance, and
  /// with no effect after an error.
  func changeStops(_ calls: [ChangeCall]) throws(StoreError)

  func states(of keys: [AllowanceKey]) throws(StoreError) -> [AllowanceState?]

  // MARK: Callbacks and appointments

  func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding
  func callbacks(_ query: AliasQuery) throws(StoreError) -> [StoredCallback]
  func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback]
  /// The hashes of the two numbers of a call, and of its id.
  func hashes(of call: EndedCall) throws(StoreError) -> (numbers: StoreID, call: StoreID)
  func recover(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError) -> RecoveredRecords
  /// Finishes a purge: deletes the rows of instances that ended long ago and old marks of transactions, or
  /// gives memory back. The store calls it until it returns less than `most`.
  func finishPurge(most: Int) throws(StoreError) -> Int

  // MARK: Notifications, devices and claims

  func registerDevice(_ device: StoredDevice) throws(StoreError) -> DeviceRegistration
  func removeDevice(of installation: InstallationIdentity) throws(StoreError)
  func noteUse(of device: StoredDevice, at time: Instant) throws(StoreError)
  func dropDevice(_ device: StoredDevice) throws(StoreError) -> Bool
  func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim]
  func redeemClaim(_ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant)
    throws(StoreError) -> Bool
  func withdrawClaim(_ id: SHA256Digest) throws(StoreError) -> Bool
  func lapseClaims(at time: Instant, most: Int) throws(StoreError) -> [StoredClaim]

  // MARK: Installations

  /// See `InstallationStore.change`.
  func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, receipts: ReceiptReader,
    onOutcome: (InstallationOutcome<Result>) -> Void,
    _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> InstallationOutcome<Result>
  func touchInstallations(_ uses: [InstallationID: Instant]) throws(StoreError)
  func purgeInstallations(unusedSince unused: [String: Instant], most: Int) throws(StoreError) -> Int

  // MARK: Store keys

  func keys() throws(StoreError) -> [KeyInUse]
  func updateKeys(at now: Instant, _ judge: ([KeyInUse]) -> KeyRuling) throws(StoreError) -> KeyRuling
}

/// The defaults are for a database with a single queue. It never has another transaction running, and no
/// other instance needs to be notified.
extension DatabaseSession {
  package static func settleDoubts(_: Shared, _: SessionQueue<Self>) async throws(StoreError) {}
  package static func leave(_: Shared, _: SessionQueue<Self>) async {}
  package func open() {}
  package func changeStops(_ calls: [ChangeCall]) throws(StoreError) { _ = try change(calls) }
}
