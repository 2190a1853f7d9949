// A store that forwards to another, so that a test can replace some of its functions.

package import Gate
package import JOSE
package import Sealing
package import Store

/// Forwards every call to another store, unless `check` throws. A conforming type replaces the functions that
/// it wants to change.
package protocol StoreDecorator: Store {
  /// The store that gets the calls.
  var base: any Store { get }

  /// Called before each forwarded call, which fails with the error that this throws.
  func check() throws(StoreError)
}

extension StoreDecorator {
  package var sharing: StoreSharing { base.sharing }
  package var health: StoreHealth { base.health }
  package func check() throws(StoreError) {}

  package func migrate(_: MigrationWait) {}
  package func ping() async throws(StoreError) { try check() }
  package func close() {}
  package func forgetAllowances() { base.forgetAllowances() }

  package func update<Result: Sendable>(
    _ keys: [AllowanceKey], at now: Instant,
    _ body: @escaping @Sendable ([AllowanceState?], Instant) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try check()
    return try await base.update(keys, at: now, body)
  }
  package func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    try check()
    return try await base.states(of: keys)
  }
  package func stops() async throws(StoreError) -> StopSet {
    try check()
    return try await base.stops()
  }
  package func stop(_ stop: Stop) async throws(StoreError) {
    try check()
    return try await base.stop(stop)
  }
  package func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try check()
    return try await base.resume(target, action)
  }
  package func purge(at now: Instant) async throws(StoreError) -> Int {
    try check()
    return try await base.purge(at: now)
  }
  package func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError)
    -> CallbackStanding
  {
    try check()
    return try await base.standing(of: intent, at: now)
  }
  package func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning
  {
    try check()
    return try await base.begin(intent, at: now)
  }
  package func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError)
    -> StoredCallback?
  {
    try check()
    return try await base.settle(id, settlement)
  }
  package func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant)
    async throws(StoreError)
  {
    try check()
    return try await base.withdraw(id, returning: receipts, at: now)
  }
  package func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback? {
    try check()
    return try await base.callback(id, of: callerID)
  }
  package func inspect() async throws(StoreError) -> Int {
    try check()
    return try await base.inspect()
  }
  package func callbacks(_ query: CallbackQuery) async throws(StoreError) -> [StoredCallback] {
    try check()
    return try await base.callbacks(query)
  }
  package func recoverCallbacks(at now: Instant, besides inHand: Set<CallbackID>) async throws(StoreError)
    -> RecoveredRecords
  {
    try check()
    return try await base.recoverCallbacks(at: now, besides: inHand)
  }
  package func keys() async throws(StoreError) -> [KeyInUse] {
    try check()
    return try await base.keys()
  }
  package func updateKeys(at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling)
    async throws(StoreError) -> KeyRuling
  {
    try check()
    return try await base.updateKeys(at: now, judge)
  }
  package func reseal(_ key: StoreKeyID, _ seal: @escaping @Sendable (SealedValue) -> [UInt8]?)
    async throws(StoreError) -> Int
  {
    try check()
    return try await base.reseal(key, seal)
  }
  package func renewAliases(_ renew: @escaping @Sendable (DueAppointment) -> AliasRenewal?)
    async throws(StoreError) -> Int
  {
    try check()
    return try await base.renewAliases(renew)
  }
  package func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult {
    try check()
    return try await base.book(booking, at: now)
  }
  package func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult {
    try check()
    return try await base.move(booking, at: now)
  }
  package func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool
  {
    try check()
    return try await base.rewrite(id, from: old, to: new)
  }
  package func callbacks(_ query: AliasQuery) async throws(StoreError) -> [StoredCallback] {
    try check()
    return try await base.callbacks(query)
  }
  package func end(
    _ id: CallbackID, _ ending: AppointmentEnding, returning receipts: [AllowanceReceipt], at now: Instant
  ) async throws(StoreError) -> EndResult {
    try check()
    return try await base.end(id, ending, returning: receipts, at: now)
  }
  package func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback? {
    try check()
    return try await base.certainRecord(id)
  }
  package func mark(_ id: CallbackID, for due: Instant, deadline: Instant, _ handover: CallHandover?)
    async throws(StoreError) -> Bool
  {
    try check()
    return try await base.mark(id, for: due, deadline: deadline, handover)
  }
  package func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant)
    async throws(StoreError) -> CallMatch
  {
    try check()
    return try await base.conclude(call, within: window, at: now)
  }
  package func triggers() async throws(StoreError) -> [StoredTrigger] { try await base.triggers() }
  package func save(_ trigger: StoredTrigger) async throws(StoreError) { try await base.save(trigger) }
  package func forgetTrigger(_ name: String) async throws(StoreError) { try await base.forgetTrigger(name) }
  package func anchors() async throws(StoreError) -> [StoredAnchor] { try await base.anchors() }
  package func save(_ anchor: StoredAnchor) async throws(StoreError) {
    try check()
    try await base.save(anchor)
  }
  package func postpone(_ id: CallbackID, until due: Instant, code: String?) async throws(StoreError) -> Bool
  {
    try check()
    return try await base.postpone(id, until: due, code: code)
  }
  package func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment] {
    try check()
    return try await base.dueAppointments(at: time, most: most)
  }
  package func scheduledAppointment(_ id: CallbackID) async throws(StoreError) -> DueAppointment? {
    try check()
    return try await base.scheduledAppointment(id)
  }
  package func appointments(of callerID: String, subject: String, most: Int) async throws(StoreError)
    -> [StoredCallback]
  {
    try check()
    return try await base.appointments(of: callerID, subject: subject, most: most)
  }
  package func appointmentsWithoutOrigin(most: Int) async throws(StoreError) -> [DueAppointment] {
    try check()
    return try await base.appointmentsWithoutOrigin(most: most)
  }
  package func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError) {
    try check()
    return try await base.note(origin, of: id)
  }
  package func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int] {
    try check()
    return try await base.takenPlaces(in: slots)
  }
  package func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback] {
    try check()
    return try await base.callbacks(ids)
  }
  package func appointmentCounts(dueBefore time: Instant) async throws(StoreError) -> AppointmentCounts {
    try check()
    return try await base.appointmentCounts(dueBefore: time)
  }
  package func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) async throws(StoreError) -> [DueNotice] {
    try check()
    return try await base.dueNotices(on: platform, questions: questions, news: news, most: most)
  }
  package func takeNotice(_ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant)
    async throws(StoreError) -> Bool
  {
    try check()
    return try await base.takeNotice(notice, id: id, until: lease, at: now)
  }
  package func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError) {
    try check()
    return try await base.settleNotice(notice, outcome)
  }
  package func notice(_ id: SHA256Digest) async throws(StoreError) -> FoundNotice? {
    try check()
    return try await base.notice(id)
  }
  package func reschedule(_ change: Rescheduling, at now: Instant) async throws(StoreError)
    -> ReschedulingResult
  {
    try check()
    return try await base.reschedule(change, at: now)
  }
  package func told(_ id: CallbackID) async throws(StoreError) {
    try check()
    return try await base.told(id)
  }
  package func installation(_ id: InstallationID) async throws(StoreError) -> Installation? {
    try check()
    return try await base.installation(id)
  }
  package func installation(key: SHA256Digest) async throws(StoreError) -> Installation? {
    try check()
    return try await base.installation(key: key)
  }
  package func sharedSecret(_ name: String, or new: [UInt8]) async throws(StoreError) -> [UInt8] {
    try check()
    return try await base.sharedSecret(name, or: new)
  }
  package func updateReport<Result: Sendable>(
    _ body: @Sendable (ReportState?) -> (ReportState?, Result)
  ) async throws(StoreError) -> Result {
    try check()
    return try await base.updateReport(body)
  }
  package func logins(since time: Instant) async throws(StoreError) -> [StoredLogin] {
    try check()
    return try await base.logins(since: time)
  }
  package func save(_ logins: [StoredLogin]) async throws(StoreError) {
    try check()
    try await base.save(logins)
  }
  package func verdict(_ id: StoreID) async throws(StoreError) -> ScreeningVerdict? {
    try check()
    return try await base.verdict(id)
  }
  package func save(_ verdict: ScreeningVerdict) async throws(StoreError) {
    try check()
    try await base.save(verdict)
  }
  package func enrolment(userCode: String, at now: Instant) async throws(StoreError) -> Enrolment? {
    try check()
    return try await base.enrolment(userCode: userCode, at: now)
  }
  package func certainInstallation(_ id: InstallationID) async throws(StoreError) -> Installation? {
    try check()
    return try await base.certainInstallation(id)
  }
  package func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant, receipts: @escaping ReceiptReader,
    onOutcome: @escaping @Sendable (InstallationOutcome<Result>) -> Void,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result> {
    try check()
    return try await base.change(scope, at: now, receipts: receipts, onOutcome: onOutcome, body)
  }
  package func confirmRevocation(_ id: InstallationID, at revokedAt: Instant) async throws(StoreError) {
    try check()
    try await base.confirmRevocation(id, at: revokedAt)
  }
  package func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError) {
    try check()
    return try await base.touchInstallations(uses)
  }
  package func installations(subject: String, at now: Instant) async throws(StoreError) -> [InstallationID] {
    try check()
    return try await base.installations(subject: subject, at: now)
  }
  package func installations(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage {
    try check()
    return try await base.installations(query)
  }
  package func installationCounts(at now: Instant) async throws(StoreError) -> InstallationCounts {
    try check()
    return try await base.installationCounts(at: now)
  }
  package func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant])
    async throws(StoreError) -> Int
  {
    try check()
    return try await base.purgeInstallations(at: now, unusedSince: unused)
  }
  @discardableResult package func registerDevice(_ device: StoredDevice) async throws(StoreError)
    -> DeviceRegistration
  {
    try check()
    return try await base.registerDevice(device)
  }
  package func removeDevice(of installation: InstallationIdentity) async throws(StoreError) {
    try check()
    return try await base.removeDevice(of: installation)
  }
  package func device(of installation: InstallationIdentity) async throws(StoreError) -> StoredDevice? {
    try check()
    return try await base.device(of: installation)
  }
  package func noteUse(of device: StoredDevice, at time: Instant) async throws(StoreError) {
    try check()
    return try await base.noteUse(of: device, at: time)
  }
  package func keepNotice(_ notice: StoredNotice) async throws(StoreError) {
    try check()
    return try await base.keepNotice(notice)
  }
  package func dropDevice(_ device: StoredDevice) async throws(StoreError) -> Bool {
    try check()
    return try await base.dropDevice(device)
  }
  package func openClaim(_ claim: StoredClaim, most: Int) async throws(StoreError) -> [StoredClaim] {
    try check()
    return try await base.openClaim(claim, most: most)
  }
  package func claim(_ id: SHA256Digest) async throws(StoreError) -> ClaimStanding? {
    try check()
    return try await base.claim(id)
  }
  package func redeemClaim(_ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant)
    async throws(StoreError) -> Bool
  {
    try check()
    return try await base.redeemClaim(id, by: installation, at: time)
  }
  package func withdrawClaim(_ id: SHA256Digest) async throws(StoreError) -> Bool {
    try check()
    return try await base.withdrawClaim(id)
  }
  package func lapseClaims(at time: Instant, most: Int) async throws(StoreError) -> [StoredClaim] {
    try check()
    return try await base.lapseClaims(at: time, most: most)
  }
  package func proven(_ number: ProvenNumber) async throws(StoreError) -> Instant? {
    try check()
    return try await base.proven(number)
  }
  package func remember(_ number: ProvenNumber, at now: Instant, until end: Instant) async throws(StoreError)
  {
    try check()
    try await base.remember(number, at: now, until: end)
  }
  package func numberKey(or new: StoredNumberKey) async throws(StoreError) -> StoredNumberKey {
    try check()
    return try await base.numberKey(or: new)
  }
  package func replaceNumberKey(_ old: StoredNumberKey, by new: StoredNumberKey) async throws(StoreError) {
    try check()
    try await base.replaceNumberKey(old, by: new)
  }
  package func block(_ number: BlockedNumber) async throws(StoreError) -> Bool {
    try check()
    return try await base.block(number)
  }
  package func unblock(_ id: StoreID, at now: Instant) async throws(StoreError) {
    try check()
    try await base.unblock(id, at: now)
  }
  package func blockedNumbers(before serial: Int64?, most: Int, at now: Instant) async throws(StoreError)
    -> [BlockedNumber]
  {
    try check()
    return try await base.blockedNumbers(before: serial, most: most, at: now)
  }
  package func blockChanges(after serial: Int64, most: Int) async throws(StoreError) -> [BlockChange] {
    try check()
    return try await base.blockChanges(after: serial, most: most)
  }
}
