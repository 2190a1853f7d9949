// The protocol for a session with a database: what a store asks of it.

package import Gate
package import JOSE

/// A session that has the tables of a store. Each function is one transaction, or reads without one. What shares a transaction with
/// others comes as jobs instead (`updateAll`).
package protocol DatabaseSession: StoreSession {
  /// What all sessions of one open store know.
  associatedtype Shared: Sendable

  /// How many rows of callbacks, claims and such one deletion takes: other work waits for it.
  static var portion: Int { get }
  /// Whether `updateAll` runs the work of sessions (`UpdateJob.Work.session`), so that one flush to the disk serves all that wait.
  static var sharesTransactions: Bool { get }
  /// What a recovery that succeeds says about the store.
  static var recovery: StoreHealth.Effect { get }
  /// Waits for the transactions whose outcome is not known. If one of them is still open, or another task looks, that is no failure of
  /// the store: this function throws, and `health` does not change.
  static func settleDoubts(_ shared: Shared, _ sessions: SessionQueue<Self>) async throws(StoreError)
  /// Tells others that the store is about to be closed.
  static func leave(_ shared: Shared, _ sessions: SessionQueue<Self>) async

  // MARK: The database

  /// Does one part of an upgrade.
  ///
  /// - Returns: Whether the schema is up to date.
  func migrate(_ wait: MigrationWait) throws(StoreError) -> Bool
  /// Opens it before its first use, where it is not open.
  func open()
  func inspect() throws(StoreError) -> Int
  func ping() throws(StoreError)

  // MARK: What every database takes

  /// Reads rows.
  func rows<Row>(_ query: Query<Row>, _ values: [ColumnValue]) throws(StoreError) -> [Row]
  /// Makes changes in one transaction.
  ///
  /// - Returns: How many rows were changed.
  func change(_ calls: [ChangeCall]) throws(StoreError) -> Int
  /// The same for stops, as `StopStore` promises: after every change of another instance, and never after an error.
  func changeStops(_ calls: [ChangeCall]) throws(StoreError)

  func states(of keys: [AllowanceKey]) throws(StoreError) -> [AllowanceState?]

  // MARK: Callbacks and appointments

  func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding
  func callbacks(_ query: AliasQuery) throws(StoreError) -> [StoredCallback]
  func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback]
  /// The hashes of the two numbers of a call, and of its id.
  func hashes(of call: EndedCall) throws(StoreError) -> (numbers: StoreID, call: StoreID)
  func recover(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError) -> RecoveredRecords
  /// Ends a purge: forgets instances that have been gone for long, or gives memory back. Called until it does less than `most`.
  func finishPurge(most: Int) throws(StoreError) -> Int

  // MARK: Notices, devices and claims

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

  /// `InstallationStore.change`.
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

/// One queue that runs everything has no transaction under way, and leaves nothing to be told.
extension DatabaseSession {
  package static func settleDoubts(_: Shared, _: SessionQueue<Self>) async throws(StoreError) {}
  package static func leave(_: Shared, _: SessionQueue<Self>) async {}
  package func open() {}
  package func changeStops(_ calls: [ChangeCall]) throws(StoreError) { _ = try change(calls) }
}
