// The protocol for installations and the requests for them, which all instances share.

public import Gate
public import JOSE
public import Texts

/// The rows that one transaction about an installation reads and locks.
public struct InstallationScope: Hashable, Sendable {
  /// The installation. Transactions about the same one run one after the other.
  public var id: InstallationID
  /// A request for the installation.
  public var request: SHA256Digest?
  /// A user whose installations are counted. Transactions about the same user run one after the other.
  public var user: CountedUser?
  /// A user code that must be unique among the waiting requests. If there is one, the waiting requests are
  /// counted.
  public var userCode: String?
  /// Whether the live requests of the installation are counted.
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

/// The rows of a scope, as the transaction reads them.
public struct InstallationView: Sendable {
  /// The installation, even if it is revoked.
  public var installation: Installation?
  /// The request, if the scope names one.
  public var enrolment: Enrolment?
  /// Whether the store has deleted an installation of this id that an operator had approved.
  public var isIDSpent = false
  /// How many installations count toward the limit of the scope's user, without the one with the scope's id.
  public var others = 0
  /// How many requests of the installation can still be approved or delivered, if the scope asks.
  public var live = 0
  /// How many requests wait, if the scope has a user code.
  public var pending = 0
  /// Whether another live request has the scope's user code.
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
  /// The installation after the change; nil if it stays as it is.
  public var installation: Installation?
  /// The request after the change; nil if it stays as it is.
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

  /// Whether the installation's device is removed, because its secret is no longer valid.
  package func endsDevice(of view: InstallationView) -> Bool {
    guard let before = view.installation, let installation else { return false }
    return installation.revokedAt != nil || installation.secret != before.secret
  }

  /// What to do with the appointments of the old generation; nil if that generation stays valid.
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

  /// The owner whose oldest revoked installations are deleted, so that at most
  /// `InstallationQuery.mostRevoked` are left; nil unless the change revokes one. Nil, too, if an operator
  /// approved the installation: the store must remember its id, so that a later installation does not get the
  /// same owner.
  package func crowds(_ view: InstallationView) -> InstallationUser? {
    guard let installation, installation.revokedAt != nil, view.installation?.revokedAt == nil else {
      return nil
    }
    return installation.user
  }
}

/// One entry of the operators' list.
public enum InstallationEntry: Hashable, Sendable {
  case installation(Installation)
  case enrolment(Enrolment)
}

/// A query for one page of a list for operators.
public struct InstallationQuery: Hashable, Sendable {
  /// The states, in the order in which a list of all states shows them.
  public enum State: String, Sendable, CaseIterable { case pending, approved, active, denied, revoked }

  /// The most revoked installations of an owner that the store keeps.
  package static let mostRevoked = 100

  /// The listed state.
  public var state: State
  /// The key of the last entry on the previous page (`InstallationPage.next`).
  public var after: String?
  /// The most entries on a page.
  public var limit: Int
  /// The time of the query. Requests that have expired by then are left out.
  public var now: Instant

  public init(_ state: State, after: String? = nil, limit: Int, at now: Instant) {
    self.state = state
    self.after = after
    self.limit = limit
    self.now = now
  }
}

/// One page of a list.
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

/// How many installations there are in each state.
public struct InstallationCounts: Hashable, Sendable {
  public var counts: [InstallationQuery.State: Int]

  public init(_ counts: [InstallationQuery.State: Int] = [:]) { self.counts = counts }

  public subscript(state: InstallationQuery.State) -> Int { counts[state] ?? 0 }
}

/// A store of installations. When `change` returns, its change survives the process and a power cut, except in the store in memory.
public protocol InstallationStore: Sendable {
  /// An installation, even if it is revoked. Reads without a lock.
  func installation(_ id: InstallationID) async throws(StoreError) -> Installation?

  /// The installation after a change whose commit was in doubt. No earlier transaction of this process that
  /// was in doubt can change the installation afterwards. Throws as long as that is not certain.
  func certainInstallation(_ id: InstallationID) async throws(StoreError) -> Installation?

  /// The installation that has a key, unless it is revoked. Reads without a lock.
  func installation(key: SHA256Digest) async throws(StoreError) -> Installation?

  /// The request with a user code, unless it was delivered or has expired. A denied request is found, too.
  /// Reads without a lock.
  func enrolment(userCode: String, at now: Instant) async throws(StoreError) -> Enrolment?

  /// Reads and locks the rows of a scope, passes them to `body`, and saves the change that `body` returns, in one transaction.
  ///
  /// If the change revokes or replaces an installation, the same transaction removes its device. Its
  /// `scheduled` appointments move to the new installation if that has the same user and app. Otherwise they
  /// end as `cancelled` with the code `revoked` and give their allowances back.
  ///
  /// - Parameters:
  ///   - receipts: Reads the allowances that an appointment gives back when it ends.
  ///   - onOutcome: Gets each outcome before its commit. After an error in doubt, the last one may have been committed.
  ///   - body: A pure function of the view. It may be called more than once; its last result counts.
  /// - Returns: What `body` returned, and the appointments that ended.
  func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant, receipts: @escaping ReceiptReader,
    onOutcome: @escaping @Sendable (InstallationOutcome<Result>) -> Void,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result>

  /// Records that the response to a revocation was certain (`Installation.unconfirmedUntil`).
  func confirmRevocation(_ id: InstallationID, at revokedAt: Instant) async throws(StoreError)

  /// Saves the last uses of installations. Times older than the saved ones change nothing.
  func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError)

  /// The installations of a subject, of every caller, that are not revoked or whose revocation is not
  /// confirmed. If the subject is an id of an installation, that installation is included.
  func installations(subject: String, at now: Instant) async throws(StoreError) -> [InstallationID]

  /// One page of a list.
  func installations(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage

  /// How many installations and requests are in each state.
  func installationCounts(at now: Instant) async throws(StoreError) -> InstallationCounts

  /// Deletes expired requests, and installations that were last used before a time, revoked or not.
  ///
  /// - Parameter unused: The time for each app id. Installations of other apps stay.
  /// - Returns: How many were deleted.
  @discardableResult
  func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant]) async throws(StoreError)
    -> Int
}

/// The result of a change.
public struct InstallationOutcome<Result: Sendable>: Sendable {
  /// What the body returned.
  public let result: Result
  /// The appointments that ended with their installation.
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
  /// The key by which lists are ordered, as hex: the id of an installation, or the digest of a request, which
  /// does not reveal the request's id.
  package var key: String {
    switch self {
    case .installation(let installation): Hex.encode(installation.client.id.bytes)
    case .enrolment(let enrolment): Hex.encode(enrolment.request.bytes)
    }
  }
}

extension Enrolment {
  /// The state that lists show.
  public var listedState: InstallationQuery.State {
    switch state {
    case .approved: .approved
    case .denied: .denied
    case .pending, .delivered, .ended: .pending
    }
  }
}

extension AppointmentStore {
  /// How many `scheduled` appointments belong to an installation.
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
