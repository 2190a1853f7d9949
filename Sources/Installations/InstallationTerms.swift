// The settings of an app's installations.

/// The operator's settings for an app's installations.
package struct InstallationTerms: Hashable, Sendable {
  /// The ways to authorize an installation.
  package enum Authorizer: String, CaseIterable, Hashable, Sendable {
    /// The signed-in user, by a JWT.
    case user
    /// An operator, by the user code.
    case `operator`
    /// A valid attestation of the app. Together with another authorizer, an attestation alone authorizes
    /// nothing.
    case attestation
  }

  /// Whether an attestation alone authorizes an installation.
  package var isByAttestation: Bool { authorize == [.attestation] }
  /// Whether installations may have no user. Such an installation is a user itself.
  package var makesUsers: Bool { authorize.contains(.operator) || isByAttestation }

  /// Whether phones have keys of their own, which they prove with each request.
  package enum KeyDemand: String, CaseIterable, Hashable, Sendable {
    /// New installations have no key.
    case off
    /// A new installation has a key if its phone sends one.
    case optional
    /// Every new installation has a key.
    case required
  }

  /// Whether phones have keys.
  package var key: KeyDemand
  /// The ways to authorize an installation of this app.
  package var authorize: Set<Authorizer>
  /// The lifetime of a request: the time for an operator to approve it, and for the phone to fetch its
  /// secret.
  package var pending: Duration
  /// The time after its last use for which an installation stays valid.
  package var idle: Duration { didSet { useGrain = Self.useGrain(idle) } }
  /// The resolution of the saved time of last use: a tenth of `idle`, at most an hour. Computed in advance,
  /// because each request reads it.
  package private(set) var useGrain: Duration
  /// The maximum number of installations of this app per user.
  package var perSubject: Int
  /// The ids of the callers that may verify codes.
  package var verifiers: Set<String>

  package init(
    authorize: Set<Authorizer> = [.user, .operator], pending: Duration = .seconds(600),
    idle: Duration = .seconds(180 * 86_400), perSubject: Int = 10, verifiers: Set<String> = [],
    key: KeyDemand = .off
  ) {
    self.key = key
    self.authorize = authorize
    self.pending = pending
    self.idle = idle
    useGrain = Self.useGrain(idle)
    self.perSubject = perSubject
    self.verifiers = verifiers
  }

  private static func useGrain(_ idle: Duration) -> Duration { min(idle / 10, .seconds(3600)) }
}
