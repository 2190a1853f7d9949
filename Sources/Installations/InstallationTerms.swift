// The settings of an app's installations.

/// The operator's terms for an app's installations.
package struct InstallationTerms: Hashable, Sendable {
  /// Who may authorize an installation.
  package enum Authorizer: String, CaseIterable, Hashable, Sendable {
    /// The signed-in user, by a JWT.
    case user
    /// An operator, by the user code.
    case `operator`
    /// An attestation of the app, if it holds. Beside another it authorizes nothing by itself.
    case attestation
  }

  /// Whether an attestation alone authorizes.
  package var isByAttestation: Bool { authorize == [.attestation] }
  /// Whether installations have no user, and are users themselves.
  package var makesUsers: Bool { authorize.contains(.operator) || isByAttestation }

  /// Whether phones have keys of their own, which they prove with each request.
  package enum KeyDemand: String, CaseIterable, Hashable, Sendable {
    /// New installations have none.
    case off
    /// Those that bring one have one.
    case optional
    /// Each has one.
    case required
  }

  /// Whether phones have keys.
  package var key: KeyDemand
  /// Who may authorize one.
  package var authorize: Set<Authorizer>
  /// How long a request waits for an operator.
  package var pending: Duration
  /// How long an installation lives without being used.
  package var idle: Duration { didSet { useGrain = Self.useGrain(idle) } }
  /// How coarsely the last use is kept: a tenth of the idle time, at most an hour. Each request reads it.
  package private(set) var useGrain: Duration
  /// How many installations one user may have.
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
