// The state of a token source, for readiness and the admin interface.

/// The state of a token source, for readiness and administration. Reading it starts no exchange.
public struct TokenSourceStatus: Sendable {
  /// The state of one scope.
  public struct Scope: Sendable {
    /// The scope's words.
    public var scope: String
    /// The remaining life of the cached token; nil if none may be vended.
    public var expiresIn: Duration?
    /// The cached token's SHA-256 in hex; nil if none may be vended.
    public var sha256: String?
    /// Whether the cached token was vended since it was obtained.
    public var isUsed: Bool
    /// The time until the cached token is due for renewal; negative after that. Nil if none may be vended.
    public var renewsIn: Duration?
    /// Whether an exchange is running.
    public var isExchanging: Bool
    /// The active cool-down for this scope: cause and time left. Nil if none is active.
    public var coolDown: (cause: TokenExchangeError, remaining: Duration)?
    /// The latest request to Talkdesk ID that has ended, with its credential's name; nil before the first.
    public var lastRequest: TokenRequestReport?
    /// The time since that request ended; nil before the first.
    public var lastRequestAge: Duration?
    /// The name of the credential that Talkdesk ID accepted last; nil if it has accepted none yet.
    public var acceptedCredential: String?
  }

  /// The scopes, in the order in which they were first named.
  public var scopes: [Scope]
  /// The credentials: the next key, if any, before the current one.
  public var credentials: [CredentialStatus]

  /// The name of the credential with which new tokens are requested: the first accepted one, with the next
  /// before the current. Nil before the first exchange, and if none is accepted.
  public var servingCredential: String? { credentials.first { $0.state == .accepted }?.name }

  /// Whether the latest request of every scope succeeded, or there was none.
  public var isWell: Bool {
    scopes.allSatisfy { scope in
      guard case .failure = scope.lastRequest?.outcome else { return true }
      return false
    }
  }

  /// Whether one of several credentials is known to be refused, so that a rotation cannot finish. For a
  /// single credential, see the scopes: Talkdesk also refuses it for a scope that the client lacks, which may
  /// no longer be configured.
  public var hasRefusedCredential: Bool {
    credentials.count > 1 && credentials.contains { $0.state == .refused }
  }
}
