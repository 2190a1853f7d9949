// Issues the emulator's access tokens, and checks them when a client uses one.

import JOSE
import JSON
import Platform

/// Makes access tokens with the same claims as Talkdesk's, and checks the token of a request.
///
/// The key is generated with the emulator and never leaves it, so its tokens become invalid when the process
/// ends.
final class EmulatedTokenIssuer: Sendable {
  /// The claims of a valid token that the emulator needs.
  struct Reading: Hashable, Sendable {
    var scopes: [String]
  }

  /// The reason why a bearer token is refused.
  enum Failure: Error, Hashable, Sendable {
    /// The token is not a JWT in compact form, or lacks the expected claims.
    case malformed
    /// Another key signed the token, or the token was changed.
    case notIssuedHere
    /// The token is for another API, or for another address of this one.
    case wrongAudience
    /// The token's `exp` has passed.
    case expired
    /// The token's `nbf` is still to come.
    case notYetValid
  }

  let keyID: String
  private let key: PrivateKey
  private let signer: Signer

  /// Makes an issuer with a new ES256 key.
  init() throws(KeyError) {
    key = try PrivateKey.generate(for: .ES256)
    signer = try Signer(key: key, algorithm: .ES256)
    keyID = String(key.publicKey.fingerprint.prefix(32))
  }

  /// Makes a token. Times are seconds since the epoch. With a lifetime of zero or less, the token has already
  /// expired.
  func issue(
    issuer: String, audience: String, clientID: String, scopes: [String], lifetime: Int64, now: Int64,
    jwtID: String = Identifier.random()
  ) throws -> String {
    var header = JSONObject()
    header.append("alg", .string(SignatureAlgorithm.ES256.rawValue))
    header.append("kid", .string(keyID))
    header.append("typ", "JWT")
    var claims = JSONObject()
    claims.append("iss", .string(issuer))
    claims.append("aud", .string(audience))
    claims.append("exp", .number(JSONNumber(now + lifetime)))
    claims.append("nbf", .number(JSONNumber(now)))
    claims.append("iat", .number(JSONNumber(now)))
    claims.append("jti", .string(jwtID))
    claims.append("cid", .string(clientID))
    claims.append("gty", "client_credentials")
    claims.append("scp", .array(scopes.map { .string($0) }))
    return try JWS.sign(header: header, payload: JSONValue.object(claims).serialized(), with: signer)
  }

  /// Checks a token that a client sends back.
  func read(_ token: String, audience: String, now: Int64) -> Result<Reading, Failure> {
    let parsed: JWS.Compact
    do {
      parsed = try JWS.Compact(parsing: Array(token.utf8))
    } catch {
      return .failure(.malformed)
    }
    guard parsed.header["alg"] == .string(SignatureAlgorithm.ES256.rawValue),
      parsed.header["kid"] == .string(keyID), parsed.verify(with: key.publicKey, algorithm: .ES256)
    else { return .failure(.notIssuedHere) }
    // Our own tokens always parse; all others were refused above.
    guard let claims = try? JSONValue(parsing: parsed.payload),
      let expirationTime = claims["exp"]?.int(in: 0...(1 << 40)),
      let notBefore = claims["nbf"]?.int(in: 0...(1 << 40)), let scopes = claims["scp"]?.array
    else { return .failure(.malformed) }
    guard claims["aud"] == .string(audience) else { return .failure(.wrongAudience) }
    guard notBefore <= now else { return .failure(.notYetValid) }
    guard expirationTime > now else { return .failure(.expired) }
    return .success(Reading(scopes: scopes.compactMap(\.string)))
  }

  /// The JWK set that `GET /oauth/certs` returns.
  var certificates: [UInt8] {
    var members = JSONObject()
    for member in key.publicKey.jwk().members where !["kid", "alg", "use"].contains(member.name) {
      members.append(member.name, member.value)
    }
    members.append("kid", .string(keyID))
    members.append("alg", .string(SignatureAlgorithm.ES256.rawValue))
    members.append("use", "sig")
    var set = JSONObject()
    set.append("keys", [.object(members)])
    return JSONValue.object(set).serialized()
  }
}
