// Makes JWTs of users, as an identity provider would, for the gateway on the sandbox's port.

public import JOSE
import JSON
import Platform

/// An identity provider with any user. Its key is made with it, so its JWTs end with the process.
public struct SandboxUsers: Sendable {
  /// The caller that takes its JWTs.
  public static let callerID = "sandbox-users"
  /// Its `iss`.
  public static let issuer = "urn:callgate:sandbox-users"
  /// Its `aud`.
  public static let audience = "callgate-sandbox"
  /// How long a JWT is good, in seconds.
  static let lifetime: Int64 = 3600
  /// The claims that only it sets.
  static let ownClaims = ["iss", "aud", "iat", "exp", "sub"]

  /// The secret that signs, for HS256.
  public let key: SymmetricKey

  /// Makes a provider.
  ///
  /// - Throws: `KeyError` when there is no secret.
  public init() throws {
    key = try SymmetricKey(Secret(try RandomBytes.make(32)), algorithm: .HS256)
  }

  /// A user's JWT.
  ///
  /// - Parameters:
  ///   - claims: Further claims, none of `ownClaims`.
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
