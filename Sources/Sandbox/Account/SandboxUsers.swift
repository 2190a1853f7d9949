// Makes JWTs for users, as an identity provider would. The gateway on the sandbox's port accepts them.

public import JOSE
import JSON
import Platform

/// An identity provider that signs a JWT for any subject. Its key is created with it and not saved, so its
/// JWTs become invalid when the process ends.
public struct SandboxUsers: Sendable {
  /// The caller that accepts the provider's JWTs.
  public static let callerID = "sandbox-users"
  /// The `iss` claim of every JWT.
  public static let issuer = "urn:callgate:sandbox-users"
  /// The `aud` claim of every JWT.
  public static let audience = "callgate-sandbox"
  /// The lifetime of a JWT, in seconds.
  static let lifetime: Int64 = 3600
  /// Claims that only the provider sets. A request must not name them.
  static let ownClaims = ["iss", "aud", "iat", "exp", "sub"]

  /// The HS256 secret that signs the JWTs.
  public let key: SymmetricKey

  /// - Throws: `OpenSSLError` if the system's random generator fails.
  public init() throws {
    key = try SymmetricKey(Secret(try RandomBytes.make(32)), algorithm: .HS256)
  }

  /// Makes a user's JWT.
  ///
  /// - Parameters:
  ///   - claims: More claims. None may be one of `ownClaims`.
  ///   - now: The time of the gateway, in seconds since the epoch.
  func jwt(subject: String, claims: JSONObject, now: Int64) -> String {
    var payload: JSONObject = [
      "iss": .string(Self.issuer), "aud": .string(Self.audience), "sub": .string(subject),
      "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + Self.lifetime)),
    ]
    for member in claims.members { payload.append(member.name, member.value) }
    return JWS.sign(header: ["typ": "JWT"], payload: payload.serialized(), with: key)
  }
}
