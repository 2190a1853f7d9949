// The record of an installation: one app on one phone, with its own secret.

public import Gate
public import JOSE
public import Texts

/// The description of an app in its request for a credential. `app` and `detail` are compared byte for byte.
public struct InstallationClient: Hashable, Sendable {
  /// The UUID that the app made.
  public let id: InstallationID
  /// The app's name for people: 1–64 Unicode scalars.
  @Exact public private(set) var app: String
  /// A further detail from the app, for example the account: 1–255 Unicode scalars.
  @Exact public private(set) var detail: String?

  public init(id: InstallationID, app: String, detail: String?) {
    self.id = id
    self.app = app
    self.detail = detail
  }
}

/// The record of an installation. It has only the SHA-256 of the secret.
public struct Installation: Hashable, Sendable {
  /// The app's description of itself.
  public let client: InstallationClient
  /// The id of the configured app to which the installation belongs.
  @Exact public private(set) var appID: String
  /// The user who authorized the installation; nil if an operator or an attestation did.
  public let user: InstallationUser?
  /// The address from which the installation was requested, as text.
  public let address: String
  /// SHA-256 of the current secret.
  public let secret: SHA256Digest
  /// The time when this secret was delivered, in nanoseconds since the epoch, and greater than the generation
  /// of any earlier secret of this id. So each secret has its own one-time passwords.
  public let generation: Int64
  /// When this secret was delivered.
  public let createdAt: Instant
  /// When the installation was last used. The time is saved at most once in a tenth of the idle time or an
  /// hour, whichever is shorter.
  public var usedAt: Instant
  public var revokedAt: Instant?
  /// The end of the hour in which an operator's repeated revocation succeeds like the first one, whose commit
  /// was in doubt. Nil without a revocation, and after a revocation whose commit was certain.
  public var unconfirmedUntil: Instant?
  /// The state of the installation's one-time passwords.
  public var codes: CodeState
  /// The number of secrets for this id that were delivered without a user (after an operator's approval or an
  /// attestation), including this one if it was. A row of a release that did not count them has 1, because it
  /// may have had such a delivery.
  public let operatorDeliveries: Int64
  /// The name of the App Attest key that belongs to the installation; nil without one.
  public let attestedKey: SHA256Digest?
  /// The thumbprint of the phone's key (RFC 7638), which each request has to prove; nil without a key.
  public let key: SHA256Digest?
  /// The operator who approved the installation. Nil if none did, and for rows of earlier releases.
  public let by: Operator.Identity?

  public init(
    client: InstallationClient, appID: String, user: InstallationUser?, address: String, secret: SHA256Digest,
    generation: Int64, createdAt: Instant, usedAt: Instant, revokedAt: Instant?, unconfirmedUntil: Instant?,
    codes: CodeState, operatorDeliveries: Int64, attestedKey: SHA256Digest?, key: SHA256Digest?,
    by: Operator.Identity? = nil
  ) {
    self.by = by
    self.client = client
    self.appID = appID
    self.user = user
    self.address = address
    self.secret = secret
    self.generation = generation
    self.createdAt = createdAt
    self.usedAt = usedAt
    self.revokedAt = revokedAt
    self.unconfirmedUntil = unconfirmedUntil
    self.codes = codes
    self.operatorDeliveries = operatorDeliveries
    self.attestedKey = attestedKey
    self.key = key
  }

  /// The state of an installation's one-time passwords: the last verified one, the next counter, and the
  /// failed verifications.
  public struct CodeState: Hashable, Sendable {
    /// The last time step whose code was verified. Codes of this and earlier steps are no longer valid. -1 if
    /// there is none.
    public var lastStep: Int64
    /// The number of codes made for callbacks, which is the next counter (RFC 4226).
    public var counter: Int64
    /// The number of wrong codes since the last right one.
    public var failures: Int64
    /// The end of the lock after too many wrong codes. No code is verified before it. Nil if there was no
    /// lock since the last right code.
    public var lockedUntil: Instant?

    public init(lastStep: Int64 = -1, counter: Int64 = 0, failures: Int64 = 0, lockedUntil: Instant? = nil) {
      self.lastStep = lastStep
      self.counter = counter
      self.failures = failures
      self.lockedUntil = lockedUntil
    }
  }
}

extension Installation {
  /// The identity of the installation in records.
  public var identity: InstallationIdentity { InstallationIdentity(client.id, generation: generation) }

  /// The owner of the installation's records, keys and dedupe entries: the user who authorized it, otherwise
  /// the installation itself. The subject of the first installation without a user for an id is that id. A
  /// later one has another subject, so that it does not own the records of the earlier one.
  public var owner: InstallationUser {
    user
      ?? InstallationUser(
        callerID: Facts.installationCaller,
        subject: operatorDeliveries > 1 ? "\(client.id)-\(generation)" : client.id.description)
  }

  /// Whether a record names this installation, as its maker or as the receiver of its notifications.
  ///
  /// - Parameter made: When the record was made. This matters only for records of a release without
  ///   generations. A generation is the time of a delivery, so a generation later than the record did not
  ///   make it.
  public func isSame(as named: InstallationIdentity, made: Instant?) -> Bool {
    guard named.id == client.id else { return false }
    guard named.generation == 0 else { return named.generation == generation }
    return made.map { generation <= $0.nanosecondsSinceEpoch } ?? false
  }
}
