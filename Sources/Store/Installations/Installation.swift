// The record of an installation: one app on one phone, with a secret of its own.

public import Gate
public import JOSE
public import Texts

/// A user of a configured caller: the caller's id and the subject that its token names.
public struct InstallationUser: Hashable, Sendable {
  /// The id of the caller that the user's token belongs to.
  @Exact public private(set) var callerID: String
  /// The token's subject.
  @Exact public private(set) var subject: String

  /// A user.
  public init(callerID: String, subject: String) {
    self.callerID = callerID
    self.subject = subject
  }
}

/// The description of an app in its request for a credential. All three values are compared byte for byte.
public struct InstallationClient: Hashable, Sendable {
  /// The UUID that the app made.
  public let id: InstallationID
  /// The app's name for people: 1–64 Unicode scalars.
  @Exact public private(set) var app: String
  /// A further detail from the app, for example the account: 1–255 Unicode scalars.
  @Exact public private(set) var detail: String?

  /// A client.
  public init(id: InstallationID, app: String, detail: String?) {
    self.id = id
    self.app = app
    self.detail = detail
  }
}

/// The record of an installation. The secret itself is nowhere: the store has its SHA-256.
public struct Installation: Hashable, Sendable {
  /// The app's description of itself.
  public let client: InstallationClient
  /// The id of the configured app that it belongs to.
  @Exact public private(set) var appID: String
  /// The user who authorized it; nil where an operator did.
  public let user: InstallationUser?
  /// The address that the request for it came from, as text.
  public let address: String
  /// SHA-256 of the secret that holds now.
  public let secret: SHA256Digest
  /// Counts the secrets of this id, so that each has one-time passwords of its own.
  public let generation: Int64
  /// When this secret was delivered.
  public let createdAt: Instant
  /// When it was last used, no coarser than a tenth of the idle time.
  public var usedAt: Instant
  /// When it was revoked.
  public var revokedAt: Instant?
  /// The state of its verified one-time passwords.
  public var codes = CodeState()
  /// How often a secret for this id was delivered on an operator's word, this one included.
  public let operatorDeliveries: Int64

  /// A record.
  ///
  /// - Parameter operatorDeliveries: Nil counts this one alone.
  public init(
    client: InstallationClient, appID: String, user: InstallationUser?, address: String, secret: SHA256Digest,
    generation: Int64, createdAt: Instant, usedAt: Instant, revokedAt: Instant? = nil,
    codes: CodeState = CodeState(), operatorDeliveries: Int64? = nil
  ) {
    self.client = client
    self.appID = appID
    self.user = user
    self.address = address
    self.secret = secret
    self.generation = generation
    self.createdAt = createdAt
    self.usedAt = usedAt
    self.revokedAt = revokedAt
    self.codes = codes
    self.operatorDeliveries = operatorDeliveries ?? (user == nil ? 1 : 0)
  }

  /// The last verified one-time password of an installation, and the failed verifications since.
  public struct CodeState: Hashable, Sendable {
    /// The last time step whose code was verified; steps up to it are used. -1 for none.
    public var lastStep: Int64
    /// How many codes for callbacks were made: the next counter (RFC 4226).
    public var counter: Int64
    /// How many wrong codes came since the last right one.
    public var failures: Int64
    /// Until when no code is verified.
    public var lockedUntil: Instant?

    /// A state.
    public init(lastStep: Int64 = -1, counter: Int64 = 0, failures: Int64 = 0, lockedUntil: Instant? = nil) {
      self.lastStep = lastStep
      self.counter = counter
      self.failures = failures
      self.lockedUntil = lockedUntil
    }
  }
}
