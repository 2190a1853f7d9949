// The settings of callers: who may send requests, and how each proves its identity.

public import Documents
public import JOSE

/// A caller as the configuration describes it.
public struct ConfiguredCaller: Sendable {
  /// The caller's unique name in logs and rules.
  public let id: String
  /// How the caller authenticates.
  public let proof: Proof

  package init(id: String, proof: Proof) {
    self.id = id
    self.proof = proof
  }

  /// Whether the caller has users, who authenticate with a JWT.
  package var hasUsers: Bool { if case .jwt = proof { true } else { false } }

  /// How a caller authenticates.
  public enum Proof: Sendable {
    /// HTTP Basic (RFC 7617) with this user name and a password with this digest. A strong password has at
    /// least 20 characters.
    case basic(username: String, password: SecretDigest, isStrong: Bool)
    /// An API key with this digest: a Bearer credential, `X-API-Key`, or the `apikey` of GMS clients.
    case apiKey(SecretDigest)
    /// A JWT from an identity provider.
    case jwt(JWTIssuer)
  }
}

/// An identity provider whose tokens are accepted.
public struct JWTIssuer: Sendable {
  /// The exact `iss`.
  public let issuer: String
  /// The value that a token's `aud` must contain.
  public let audience: String
  /// The source of the provider's keys.
  public let keys: Keys
  /// The claim that names the subject.
  public let subjectClaim: String
  /// The claim that names the subject if a token lacks `subjectClaim`; nil for none.
  package let fallbackClaim: String?

  package init(
    issuer: String, audience: String, keys: Keys, subjectClaim: String, fallbackClaim: String? = nil
  ) {
    self.fallbackClaim = fallbackClaim
    self.issuer = issuer
    self.audience = audience
    self.keys = keys
    self.subjectClaim = subjectClaim
  }

  /// The source of an issuer's keys.
  public enum Keys: Sendable {
    /// The URL of a JWK set, which the server fetches and renews, and the position of the setting.
    case url(String, DocumentPlace)
    /// A JWK set; at least one of its keys is usable.
    case set(JWKSet)
    /// A shared secret, for HS256.
    case secret(SymmetricKey)
    /// A file or variable that the configuration's purpose does not open.
    case unopened
  }
}
