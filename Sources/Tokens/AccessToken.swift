// A Talkdesk ID access token with its scope and lifetime. It prints only its fingerprint.

public import JOSE
public import Platform

/// A Talkdesk ID access token with its scope and lifetime. Prints its fingerprint, never itself.
///
/// A class: passing a token on costs no copy, and its identity is the key of derived values, such as a
/// prepared response.
public final class AccessToken: Sendable {
  /// The token's octets: 1–8192 of visible ASCII.
  public let secret: Secret
  /// The token's scope: words separated by spaces.
  public let scope: String
  /// Whether Talkdesk ID named the scope; otherwise it is the requested one (RFC 6749 §5.1).
  public let statesScope: Bool
  /// The OAuth client that the token was issued to.
  public let clientID: String
  /// When the token was requested. Its age counts from here, before Talkdesk ID can have issued the token, so
  /// no delay makes it seem younger than it is.
  public let obtainedAt: MonotonicTime
  /// How long the token is valid; nil if Talkdesk ID did not say.
  public let lifetime: Duration?
  /// When the token expires; nil if Talkdesk ID did not say.
  public let expiresAt: Expiry?
  /// The token's SHA-256 in lowercase hex, which identifies the token in logs.
  public let sha256: String

  /// The token's type for the API (RFC 6750 §2.1). No other type is accepted.
  public var tokenType: String { "Bearer" }

  /// Creates a token from the parts of a response.
  public init(
    token: [UInt8], scope: String, statesScope: Bool = true, clientID: String, obtainedAt: MonotonicTime,
    lifetime: Duration?
  ) {
    self.secret = Secret(token)
    self.scope = scope
    self.statesScope = statesScope
    self.clientID = clientID
    self.obtainedAt = obtainedAt
    self.lifetime = lifetime
    self.expiresAt = lifetime.map { Expiry(obtainedAt + $0) }
    self.sha256 = Hex.encode(SHA256.digest(token))
  }

  /// The time until the token expires: negative after that, nil if the lifetime is unknown.
  public func remaining(at now: MonotonicTime) -> Duration? { expiresAt.map { $0 - now } }

  /// The time after which the token must not be vended: `minimum` before it expires, or half its lifetime
  /// before if that is shorter. Nil if the lifetime is unknown.
  func vendable(withAtLeast minimum: Duration) -> Expiry? {
    guard let lifetime, let expiresAt else { return nil }
    return expiresAt - min(minimum, lifetime / 2)
  }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
  public var description: String { "<redacted, SHA-256 \(sha256.prefix(16))>" }
  public var customMirror: Mirror { Mirror(self, children: ["sha256": sha256]) }
}
