// Reports one request to the token endpoint for logs, metrics and status, without any secret.

public import HTTP
public import Platform

/// A report of one request to the token endpoint, for logs, metrics and status. Contains no token and no
/// secret.
public struct TokenRequestReport: Sendable {
  /// The difference between the wall clock and Talkdesk's above which the server logs a warning. An assertion
  /// from a clock that is ahead may be refused.
  public static let tolerableClockSkew = Duration.seconds(30)

  /// The values of a successful reply.
  public struct Success: Sendable {
    /// The token's fingerprint.
    public var sha256: String
    /// The token's scope.
    public var scope: String
    /// How long the token is valid; nil if the reply does not say.
    public var lifetime: Duration?

    package init(sha256: String, scope: String, lifetime: Duration?) {
      self.sha256 = sha256
      self.scope = scope
      self.lifetime = lifetime
    }
  }

  /// The requested scope.
  public var scope: String
  /// The credential's name: a key id or `client_secret`.
  public var credential: String
  /// The role of that credential.
  public var role: CredentialRole
  /// The number of this request in its exchange, from 1.
  public var attempt: Int
  /// When the attempt began: before its assertion was signed and the request was sent.
  public var startedAt: MonotonicTime
  /// How long the request took.
  public var duration: Duration
  public var outcome: Result<Success, TokenExchangeError>
  /// The span in which the request was sent, if it has a trace.
  public var trace: TraceContext?
  /// The reply's status; nil if no complete reply arrived.
  public var status: Int?
  /// Talkdesk's trace id, `platform-tid`, which its support asks for.
  public var platformTID: String?
  /// The time by which Talkdesk's clock is ahead of this machine's, from the response's `Date`: accurate to
  /// about a second. Nil without a readable `Date`.
  public var clockSkew: Duration?
  /// The reply's `error_description`, bounded and printable: only for debug logs.
  public var errorDescription: String?

  package init(
    scope: String, credential: String, role: CredentialRole, attempt: Int, startedAt: MonotonicTime,
    duration: Duration, outcome: Result<Success, TokenExchangeError>, trace: TraceContext?
  ) {
    self.scope = scope
    self.credential = credential
    self.role = role
    self.attempt = attempt
    self.startedAt = startedAt
    self.duration = duration
    self.outcome = outcome
    self.trace = trace
  }

  /// A short fixed word for metrics: `success`, or the error's label.
  public var label: String {
    switch outcome {
    case .success: "success"
    case .failure(let error): error.label
    }
  }

  /// Whether the clocks differ by more than is tolerable.
  public var clockIsOff: Bool {
    guard let clockSkew else { return false }
    return clockSkew > Self.tolerableClockSkew || clockSkew < .zero - Self.tolerableClockSkew
  }
}
