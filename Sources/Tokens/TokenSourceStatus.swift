// The state of a token source, for readiness and the admin interface.

/// How a token source is doing, for readiness and administration. Asking costs no exchange.
public struct TokenSourceStatus: Sendable {
  /// One scope.
  public struct Scope: Sendable {
    /// Its words.
    public var scope: String
    /// How much of the cached token's life is left; nil where there is none that may be vended.
    public var expiresIn: Duration?
    /// The cached token's fingerprint.
    public var sha256: String?
    /// Whether the cached token was vended since it was obtained.
    public var isUsed: Bool
    /// How long until it is due for renewal; negative once it is.
    public var renewsIn: Duration?
    /// Whether an exchange is under way.
    public var isExchanging: Bool
    /// Why Talkdesk ID is left alone for this scope, and for how long yet.
    public var coolDown: (cause: TokenExchangeError, remaining: Duration)?
    /// The latest request to Talkdesk ID that is over, with its credential's name; nil before the first.
    public var lastRequest: TokenRequestReport?
    /// How long that one is over.
    public var lastRequestAge: Duration?
    /// The name of the credential that was accepted last.
    public var acceptedCredential: String?
  }

  /// The scopes, in the order in which they were first named.
  public var scopes: [Scope]
  /// The credentials: the next key, where there is one, before the current one.
  public var credentials: [CredentialStatus]

  /// The name of the credential that new tokens are obtained with: the accepted one, the next before the current. Nil
  /// before the first exchange, and where none is accepted.
  public var servingCredential: String? { credentials.first { $0.state == .accepted }?.name }

  /// Whether the latest request of every scope succeeded, or none was made.
  public var isWell: Bool {
    scopes.allSatisfy { scope in
      guard case .failure = scope.lastRequest?.outcome else { return true }
      return false
    }
  }

  /// Whether one of several credentials is known to be refused: a rotation that hangs. The scopes show whether a single credential
  /// serves: Talkdesk refuses it also for a scope that the client lacks, which may not be configured any more.
  public var hasRefusedCredential: Bool {
    credentials.count > 1 && credentials.contains { $0.state == .refused }
  }
}
