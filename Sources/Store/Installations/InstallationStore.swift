// The protocol for installations and the requests for them, which all instances share.

public import Gate
public import JOSE
public import Texts

/// The rows that a transaction about an installation reads and locks.
public struct InstallationScope: Hashable, Sendable {
  /// The installation. Transactions about the same installation run one after the other.
  public var id: InstallationID
  /// The digest of the id of a request for the installation; nil if no request is read.
  public var request: SHA256Digest?
  /// The user whose installations are counted. Transactions about the same user run one after the other.
  public var user: CountedUser?
  /// A new user code. The transaction checks whether another request has it, and counts the waiting requests.
  public var userCode: String?
  /// Whether the transaction counts the live requests of the installation.
  public var countsLive = false
  /// The name of an App Attest key. The transaction checks whether another active installation has it.
  /// Transactions about the same key run one after the other.
  public var attestedKey: SHA256Digest?
  /// Whether the transaction hands out or uses up something that exists once: an installation, a secret or a
  /// code. Then it fails if this machine's clock is known to be wrong.
  public var takes: Bool
  /// The thumbprint of the key that the installation will have. Transactions about the same key run one after
  /// the other.
  public var key: SHA256Digest?

  public init(
    _ id: InstallationID, request: SHA256Digest? = nil, user: CountedUser? = nil, userCode: String? = nil,
    countsLive: Bool = false, attestedKey: SHA256Digest? = nil, key: SHA256Digest? = nil, takes: Bool = true
  ) {
    self.takes = takes
    self.key = key
    self.id = id
    self.request = request
    self.user = user
    self.userCode = userCode
    self.countsLive = countsLive
    self.attestedKey = attestedKey
  }

  /// The installations that count toward a user's limit: those of an app that were used since a time.
  public struct CountedUser: Hashable, Sendable {
    public let user: InstallationUser
    @Exact public private(set) var appID: String
    /// Installations that were last used before this time are idle and do not count.
    public let usedSince: Instant

    public init(_ user: InstallationUser, appID: String, usedSince: Instant) {
      self.user = user
      self.appID = appID
      self.usedSince = usedSince
    }
  }
}

/// The rows of a scope, as the transaction has read them.
public struct InstallationView: Sendable {
  /// The installation, even if it is revoked.
  public var installation: Installation?
  /// The request, if the scope names one.
  public var enrolment: Enrolment?
  /// Whether the store has deleted an installation of this id that had no user, or that replaced one without
  /// a user.
  public var isIDSpent = false
  /// The number of installations that count toward the limit of the scope's user, without the one with the
  /// scope's id.
  public var others = 0
  /// The number of requests of the installation that can still be approved or delivered; 0 unless the scope
  /// has `countsLive`.
  public var live = 0
  /// The number of requests that wait for an operator; 0 unless the scope has a user code.
  public var pending = 0
  /// Whether a request that was neither delivered nor ended and has not expired has the scope's user code.
  public var isUserCodeTaken = false
  /// Whether another installation that is not revoked has the scope's App Attest key.
  public var isAttestedKeyTaken = false
  /// Whether another installation that is not revoked has the scope's key.
  public var isKeyTaken = false

  public init(installation: Installation? = nil, enrolment: Enrolment? = nil) {
    self.installation = installation
    self.enrolment = enrolment
  }
}

/// The changes to the rows of a scope.
public struct InstallationChange: Hashable, Sendable {
  /// The installation after the change; nil if it does not change.
  public var installation: Installation?
  /// The request after the change; nil if it does not change.
  public var enrolment: Enrolment?
  /// Whether all other live requests of the installation end.
  public var endsOthers: Bool

  public init(installation: Installation? = nil, enrolment: Enrolment? = nil, endsOthers: Bool = false) {
    self.installation = installation
    self.enrolment = enrolment
    self.endsOthers = endsOthers
  }

  /// Whether there is nothing to write.
  public var isEmpty: Bool { installation == nil && enrolment == nil && !endsOthers }

  /// Whether the installation's device is removed: the installation is revoked, or its secret is replaced.
  package func endsDevice(of view: InstallationView) -> Bool {
    guard let before = view.installation, let installation else { return false }
    return installation.revokedAt != nil || installation.secret != before.secret
  }

  /// What happens to the appointments of the previous generation; nil if that generation stays valid, or was
  /// already revoked.
  package func succession(of view: InstallationView) -> Succession? {
    guard let before = view.installation, before.revokedAt == nil, let installation, endsDevice(of: view)
    else {
      return nil
    }
    guard installation.revokedAt == nil, let user = installation.user, user == before.user,
      installation.appID.hasSameBytes(as: before.appID)
    else { return .ends(before.identity, before.owner) }
    return .passes(before.identity, to: installation.identity, before.owner)
  }

  /// The user whose oldest revoked installations are deleted, so that at most `InstallationQuery.mostRevoked`
  /// are left. Nil unless the change revokes an installation. Also nil if the installation has no user: the
  /// store must remember its id, so that a later installation does not get the same owner.
  package func crowds(_ view: InstallationView) -> InstallationUser? {
    guard let installation, installation.revokedAt != nil, view.installation?.revokedAt == nil else {
      return nil
    }
    return installation.user
  }
}

/// An entry of the list for operators: an installation or a request.
public enum InstallationEntry: Hashable, Sendable {
  case installation(Installation)
  case enrolment(Enrolment)
}

/// A query for one page of a list for operators.
public struct InstallationQuery: Hashable, Sendable {
  /// The states, in the order in which the list of all states shows them.
  public enum State: String, Sendable, CaseIterable { case pending, approved, active, denied, revoked }

  /// The maximum number of revoked installations of a user in the store. An installation whose id was once
  /// used without a user is not counted.
  package static let mostRevoked = 100

  /// The listed state.
  public var state: State
  /// The key of the last entry on the previous page (`InstallationPage.next`).
  public var after: String?
  /// The maximum number of entries on a page.
  public var limit: Int
  /// The time of the query. Pending and approved requests that have expired by then are left out. Denied ones
  /// are listed until they are deleted.
  public var now: Instant

  public init(_ state: State, after: String? = nil, limit: Int, at now: Instant) {
    self.state = state
    self.after = after
    self.limit = limit
    self.now = now
  }
}

/// One page of the list for operators.
public struct InstallationPage: Hashable, Sendable {
  /// The entries, ordered by their keys and not by time.
  public var entries: [InstallationEntry]
  /// The key for the next page; nil if this is the last one.
  public var next: String?

  public init(entries: [InstallationEntry] = [], next: String? = nil) {
    self.entries = entries
    self.next = next
  }
}

/// The number of installations or requests in each state.
public struct InstallationCounts: Hashable, Sendable {
  public var counts: [InstallationQuery.State: Int]

  public init(_ counts: [InstallationQuery.State: Int] = [:]) { self.counts = counts }

  public subscript(state: InstallationQuery.State) -> Int { counts[state] ?? 0 }
}

/// A store of installations. When `change` returns, its change survives the process and a power cut, except
/// in the store in memory.
public protocol InstallationStore: Sendable {
  /// An installation, even if it is revoked. Reads without a lock.
  func installation(_ id: InstallationID) async throws(StoreError) -> Installation?

  /// Reads an installation, to find out after an error in doubt whether a change was made. Once this function
  /// returns, no earlier transaction in doubt of this process can still change the installation. Throws until
  /// that is certain.
  func certainInstallation(_ id: InstallationID) async throws(StoreError) -> Installation?

  /// The installation with a phone's key, unless it is revoked. Reads without a lock.
  func installation(key: SHA256Digest) async throws(StoreError) -> Installation?

  /// The request with a user code, unless it was delivered, has ended or has expired. A denied request is
  /// found, too. Reads without a lock.
  func enrolment(userCode: String, at now: Instant) async throws(StoreError) -> Enrolment?

  /// Reads and locks the rows of a scope, passes them to `body`, and saves the change that `body` returns, in
  /// one transaction.
  ///
  /// If the change revokes or replaces an installation, the same transaction removes its device. Its
  /// `scheduled` appointments move to the new installation if that has the same user and app. Otherwise they
  /// end as `cancelled` with the code `revoked` and give their allowances back.
  ///
  /// - Parameters:
  ///   - receipts: Reads the allowances that an appointment gives back when it ends.
  ///   - onOutcome: Gets each outcome before its commit. After an error in doubt, the last one may have been
  ///     committed.
  ///   - body: A pure function of the view. It may be called more than once; its last result counts.
  /// - Returns: The result of `body`, and the appointments that ended.
  func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant, receipts: @escaping ReceiptReader,
    onOutcome: @escaping @Sendable (InstallationOutcome<Result>) -> Void,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result>

  /// Records that the commit of a revocation was certain (`Installation.unconfirmedUntil`).
  func confirmRevocation(_ id: InstallationID, at revokedAt: Instant) async throws(StoreError)

  /// Saves the times when installations were last used. A time before the saved one changes nothing.
  func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError)

  /// The installations of a subject, of every caller, that are not revoked or whose revocation is not
  /// confirmed. If the subject is the id of an installation without a user, that one is included.
  func installations(subject: String, at now: Instant) async throws(StoreError) -> [InstallationID]

  /// One page of the list for operators.
  func installations(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage

  /// The number of installations or requests in each state.
  func installationCounts(at now: Instant) async throws(StoreError) -> InstallationCounts

  /// Deletes requests whose `forgottenAt` has passed, and installations that were last used before a time,
  /// revoked or not.
  ///
  /// - Parameter unused: That time for each app id. Installations of other apps stay.
  /// - Returns: The number of deleted rows.
  @discardableResult
  func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant]) async throws(StoreError)
    -> Int
}

/// The result of a change.
public struct InstallationOutcome<Result: Sendable>: Sendable {
  /// The result of `body`.
  public let result: Result
  /// The appointments that ended because their installation was revoked or replaced.
  public let ended: [EndedAppointment]

  package init(_ result: Result, ended: [EndedAppointment]) {
    self.result = result
    self.ended = ended
  }
}

extension InstallationStore {
  /// The same as `change`, for a store whose appointments have used no allowances.
  public func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result> {
    try await change(scope, at: now, receipts: { _, _ in nil }, onOutcome: { _ in }, body)
  }

  /// The same as `change`, without the appointments that ended.
  @discardableResult
  public func changeInstallation<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> Result {
    try await change(scope, at: now, body).result
  }
}

extension InstallationEntry {
  /// The key that determines the order of lists, in hex: the id of an installation, or the digest of a
  /// request, which does not reveal the request's id.
  package var key: String {
    switch self {
    case .installation(let installation): Hex.encode(installation.client.id.bytes)
    case .enrolment(let enrolment): Hex.encode(enrolment.request.bytes)
    }
  }
}

extension Enrolment {
  /// The state that lists show. They contain neither delivered nor ended requests.
  public var listedState: InstallationQuery.State {
    switch state {
    case .approved: .approved
    case .denied: .denied
    case .pending, .delivered, .ended: .pending
    }
  }
}

extension AppointmentStore {
  /// The number of `scheduled` appointments that an installation has made.
  public func scheduledCount(of installation: Installation) async throws(StoreError) -> Int {
    let owner = installation.owner
    return try await appointments(of: owner.callerID, subject: owner.subject, most: 100_000)
      .count { $0.origin == .installation(installation.identity) }
  }
}

extension InstallationPage {
  /// Makes a page from the result of a query for one entry more than the limit.
  package init(cutting entries: [InstallationEntry], to limit: Int) {
    let page = Array(entries.prefix(limit))
    self.init(entries: page, next: entries.count > limit ? page.last?.key : nil)
  }
}
