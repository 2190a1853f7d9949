// An access token with its scope and lifetime; it prints only its fingerprint.

public import JOSE
public import Platform

/// A Talkdesk ID access token with its scope and lifetime. Prints its fingerprint, never itself.
///
/// A class: passing it on costs no copy, and its identity is the key of derived values, such as a prepared response.
public final class AccessToken: Sendable {
  /// The token's octets: 1–8192 of visible ASCII.
  public let secret: Secret
  /// The scope it has, words separated by spaces.
  public let scope: String
  /// Whether Talkdesk ID named the scope; otherwise it is the requested one (RFC 6749 §5.1).
  public let statesScope: Bool
  /// The OAuth client it was issued to.
  public let clientID: String
  /// When it was requested. Its age counts from here, before Talkdesk ID can have issued it. So no delay
  /// makes it seem younger than it is.
  public let obtainedAt: MonotonicTime
  /// How long it lives; nil where Talkdesk ID did not say.
  public let lifetime: Duration?
  /// When it expires; nil where Talkdesk ID did not say.
  public let expiresAt: Expiry?
  /// The token's SHA-256 in lower-case hex, which names the token in logs.
  public let sha256: String

  /// How it is presented to the API (RFC 6750 §2.1); no other type is ever taken.
  public var tokenType: String { "Bearer" }

  /// Makes a token from a reply's parts.
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

  /// How much of its life is left; negative once it is over, nil where it is not known.
  public func remaining(at now: MonotonicTime) -> Duration? { expiresAt.map { $0 - now } }

  /// The point after which it must not be vended: `minimum` before it expires, or half its life before where that is
  /// shorter. Nil where its life is not known.
  func vendable(withAtLeast minimum: Duration) -> Expiry? {
    guard let lifetime, let expiresAt else { return nil }
    return expiresAt - min(minimum, lifetime / 2)
  }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
  public var description: String { "<redacted, SHA-256 \(sha256.prefix(16))>" }
  public var customMirror: Mirror { Mirror(self, children: ["sha256": sha256]) }
}
