// The protocol for installations and the requests for them, which all instances share.

public import Gate
public import JOSE
public import Texts

/// The rows that one transaction about an installation reads and locks.
public struct InstallationScope: Hashable, Sendable {
  /// The installation. Transactions about the same one run one after the other.
  public var id: InstallationID
  /// One of its requests.
  public var request: SHA256Digest?
  /// A user whose installations are counted. Transactions about the same user run one after the other.
  public var user: CountedUser?
  /// Whether the requests that wait are counted, and a user code that shall be unique among them.
  public var userCode: String?
  /// Whether the live requests of the installation are counted.
  public var countsLive = false
  /// The name of an App Attest key that another living installation may have. Transactions about the same key run one after the other.
  public var attestedKey: SHA256Digest?
  /// Whether the transaction takes something that can be had once: an installation, a secret or a code. Then it fails if this machine's
  /// clock is known to be wrong.
  public var takes: Bool
  /// The key that the installation is to have. Transactions about the same one run one after the other.
  public var key: SHA256Digest?

  /// A scope.
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
    /// The user.
    public let user: InstallationUser
    /// The app.
    @Exact public private(set) var appID: String
    /// Installations that were last used before this are idle, and count no more.
    public let usedSince: Instant

    /// A user.
    public init(_ user: InstallationUser, appID: String, usedSince: Instant) {
      self.user = user
      self.appID = appID
      self.usedSince = usedSince
    }
  }
}

/// The content of a scope.
public struct InstallationView: Sendable {
  /// The installation, revoked ones too.
  public var installation: Installation?
  /// The request, if the scope names one.
  public var enrolment: Enrolment?
  /// Whether an installation of this id that an operator had approved was forgotten.
  public var isIDSpent = false
  /// How many installations the scope's user has that count; the one of the scope's id is left out.
  public var others = 0
  /// How many requests of the installation can still be approved or delivered, if the scope asks.
  public var live = 0
  /// How many requests wait, if the scope has a user code.
  public var pending = 0
  /// Whether the scope's user code is another live request's.
  public var isUserCodeTaken = false
  /// Whether the scope's App Attest key is that of another installation that is not revoked.
  public var isAttestedKeyTaken = false
  /// Whether another installation that is not revoked has the scope's key.
  public var isKeyTaken = false

  /// A view.
  public init(installation: Installation? = nil, enrolment: Enrolment? = nil) {
    self.installation = installation
    self.enrolment = enrolment
  }
}

/// The change of a scope.
public struct InstallationChange: Hashable, Sendable {
  /// The installation as it is from now on; nil where it stays as it is.
  public var installation: Installation?
  /// The request as it is from now on; nil where it stays as it is.
  public var enrolment: Enrolment?
  /// Whether all other live requests of the installation end.
  public var endsOthers: Bool

  /// A change.
  public init(installation: Installation? = nil, enrolment: Enrolment? = nil, endsOthers: Bool = false) {
    self.installation = installation
    self.enrolment = enrolment
    self.endsOthers = endsOthers
  }

  /// Whether there is nothing to write.
  public var isEmpty: Bool { installation == nil && enrolment == nil && !endsOthers }

  /// Whether the installation's device goes: it was registered with a secret that holds no more.
  package func endsDevice(of view: InstallationView) -> Bool {
    guard let before = view.installation, let installation else { return false }
    return installation.revokedAt != nil || installation.secret != before.secret
  }

  /// What becomes of the appointments of the installation as it was; nil where it stays.
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

  /// The owner whose oldest revoked installations go, so that no more than `InstallationQuery.mostRevoked` are kept; nil if none does.
  /// An id that an operator has approved is kept: its name must not begin anew.
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

/// A list that operators ask for, in pages.
public struct InstallationQuery: Hashable, Sendable {
  /// The states, in the order of a list of everything.
  public enum State: String, Sendable, CaseIterable { case pending, approved, active, denied, revoked }

  /// How many revoked installations of an owner are kept.
  package static let mostRevoked = 100

  /// The listed state.
  public var state: State
  /// The key of the last entry of the page before (`InstallationPage.next`).
  public var after: String?
  /// How many entries a page has at most.
  public var limit: Int
  /// Requests that have expired are left out.
  public var now: Instant

  /// A query.
  public init(_ state: State, after: String? = nil, limit: Int, at now: Instant) {
    self.state = state
    self.after = after
    self.limit = limit
    self.now = now
  }
}

/// One page of a list.
public struct InstallationPage: Hashable, Sendable {
  /// Ordered by the key of each entry, in no order of time.
  public var entries: [InstallationEntry]
  /// The key for the next page; nil where this is the last one.
  public var next: String?

  /// A page.
  public init(entries: [InstallationEntry] = [], next: String? = nil) {
    self.entries = entries
    self.next = next
  }
}

/// How many installations there are in each state.
public struct InstallationCounts: Hashable, Sendable {
  /// By state.
  public var counts: [InstallationQuery.State: Int]

  /// Counts.
  public init(_ counts: [InstallationQuery.State: Int] = [:]) { self.counts = counts }

  /// The number in a state.
  public subscript(state: InstallationQuery.State) -> Int { counts[state] ?? 0 }
}

/// A store of installations. When `change` returns, its change survives the process and a power cut, except in the store in memory.
public protocol InstallationStore: Sendable {
  /// An installation, revoked ones too. Reads without a lock.
  func installation(_ id: InstallationID) async throws(StoreError) -> Installation?

  /// What came of a change whose commit was in doubt. Nothing that was in doubt in this process before the call changes the
  /// installation after it. Throws as long as that is not certain.
  func certainInstallation(_ id: InstallationID) async throws(StoreError) -> Installation?

  /// The installation with a key that is not revoked. Reads without a lock.
  func installation(key: SHA256Digest) async throws(StoreError) -> Installation?

  /// The request under a user code that was not delivered and has not expired, denied ones too. Reads without a lock.
  func enrolment(userCode: String, at now: Instant) async throws(StoreError) -> Enrolment?

  /// Reads and locks the rows of a scope, passes them to `body`, and saves the change that `body` returns, in one transaction.
  ///
  /// Where the change revokes or replaces an installation, the same transaction removes its device. Its `scheduled` appointments go
  /// over to the new installation of the same owner, or end as `cancelled` with the code `revoked` and give their allowances back.
  ///
  /// - Parameters:
  ///   - receipts: Reads what an appointment that ends has to give back.
  ///   - onOutcome: Gets each outcome before its commit. After an error in doubt, the last one may have been committed.
  ///   - body: A pure function of the view. It may be called more than once; its last result counts.
  /// - Returns: What `body` returned, and the appointments that ended.
  func change<Result: Sendable>(
    _ scope: InstallationScope, at now: Instant, receipts: @escaping ReceiptReader,
    onOutcome: @escaping @Sendable (InstallationOutcome<Result>) -> Void,
    _ body: @escaping @Sendable (InstallationView) -> (InstallationChange, Result)
  ) async throws(StoreError) -> InstallationOutcome<Result>

  /// Notes that the answer to a revocation was certain (`Installation.unconfirmedUntil`).
  func confirmRevocation(_ id: InstallationID, at revokedAt: Instant) async throws(StoreError)

  /// Saves the last uses of installations. Times older than the saved ones change nothing.
  func touchInstallations(_ uses: [InstallationID: Instant]) async throws(StoreError)

  /// The installations with a subject, of every caller, that are not revoked, or whose revocation is not confirmed; those whose id is
  /// the subject too.
  func installations(subject: String, at now: Instant) async throws(StoreError) -> [InstallationID]

  /// One page of a list.
  func installations(_ query: InstallationQuery) async throws(StoreError) -> InstallationPage

  /// How many there are.
  func installationCounts(at now: Instant) async throws(StoreError) -> InstallationCounts

  /// Forgets requests whose time is over, and installations that were revoked or last used before a time.
  ///
  /// - Parameter unused: When an installation of an app was last used at the latest to be forgotten. Those of other apps stay.
  /// - Returns: How many were forgotten.
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
  /// The same for a store whose appointments have taken nothing from allowances.
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
  /// The key by which lists are ordered, as hex: of an installation its id, of a request its digest, which leads nowhere.
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
  /// A page of entries of which one more than the limit was asked for.
  package init(cutting entries: [InstallationEntry], to limit: Int) {
    let page = Array(entries.prefix(limit))
    self.init(entries: page, next: entries.count > limit ? page.last?.key : nil)
  }
}
