// Verifies a client assertion the way Talkdesk ID does.

import JOSE
import JSON
import Platform
import Texts

/// Checks a client assertion (RFC 7523 §3) the way Talkdesk ID does. Pure: the time and the audience are
/// parameters, and `ReplayGuard` checks whether the `jti` was used before.
struct AssertionVerifier: Sendable {
  /// A valid assertion.
  struct Verified: Hashable, Sendable {
    /// The `jti`, which must not be used again.
    var jwtID: String
    /// The time at which the assertion expires, in seconds since the epoch. Until then it could be replayed.
    var expirationTime: Int64
  }

  /// The claims of an assertion and whether it is valid. The journal keeps the claimed ids even if it is not.
  struct Reading: Sendable {
    /// The header's `kid`.
    var keyID: String?
    /// The `jti` claim.
    var jwtID: String?
    var result: Result<Verified, AssertionFailure>
  }

  /// The longest accepted lifetime of an assertion, in seconds. All of Talkdesk's samples use it.
  static let maximumLifetime: Int64 = 300
  /// The maximum time by which a client's clock may be ahead, in seconds.
  static let clockSkew: Int64 = 10
  /// The time by which a strict verifier's clock is behind, in seconds. A strict verifier allows no skew.
  static let strictLag: Int64 = 2
  /// The longest accepted `jti`, in bytes.
  static let maximumJWTIDLength = 256

  /// The client that the assertion must name as its issuer and subject.
  let clientID: String
  /// The client's keys; several during a key rotation.
  let keys: [RegisteredKey]
  /// Whether the verifier's clock is behind by `strictLag`, and allows no skew.
  var isStrict = false

  /// Reads and checks an assertion in compact form.
  ///
  /// - Parameters:
  ///   - assertion: The value of `client_assertion`.
  ///   - audience: The required `aud`: the token URL of the request.
  ///   - now: The verifier's clock.
  func read(_ assertion: String, audience: String, now: UnixTime) -> Reading {
    let token: JWS.Compact
    do {
      token = try JWS.Compact(parsing: Array(assertion.utf8))
    } catch {
      return Reading(keyID: nil, jwtID: nil, result: .failure(.malformed))
    }
    let keyID = token.header["kid"]?.string
    // Claims are read before the signature is checked, only so that the journal can name the refused
    // assertion.
    let claims = try? JSONValue(parsing: token.payload).object  // nil is refused below, after the signature.
    let jwtID = claims?["jti"]?.string
    do throws(AssertionFailure) {
      try verifySignature(of: token)
      guard let claims else { throw .claimsNotAnObject }
      return Reading(
        keyID: keyID, jwtID: jwtID,
        result: .success(try verify(claims, audience: audience, now: now.seconds)))
    } catch {
      return Reading(keyID: keyID, jwtID: jwtID, result: .failure(error))
    }
  }

  private func verifySignature(of token: JWS.Compact) throws(AssertionFailure) {
    if let type = token.header["typ"] {
      guard let name = type.string, name.lowercased() == "jwt" else { throw .wrongType }
    }
    guard let keyID = token.header["kid"]?.string else { throw .missing("kid") }
    guard let key = keys.first(where: { $0.keyID.hasSameBytes(as: keyID) }) else { throw .unknownKeyID }
    // The registered key decides the algorithm, never the token. So `none`, or HS256 with the public key as
    // its secret, is refused here.
    guard let algorithm = key.algorithms.first(where: { token.header["alg"] == .string($0.rawValue) })
    else { throw .wrongAlgorithm }
    guard token.verify(with: key.publicKey, algorithm: algorithm) else { throw .badSignature }
  }

  private func verify(
    _ claims: JSONObject, audience: String, now: Int64
  ) throws(AssertionFailure) -> Verified {
    guard let issuer = claims["iss"] else { throw .missing("iss") }
    guard issuer == .string(clientID) else { throw .wrongIssuer }
    guard let subject = claims["sub"] else { throw .missing("sub") }
    guard subject == .string(clientID) else { throw .wrongSubject }
    guard let claimedAudience = claims["aud"] else { throw .missing("aud") }
    guard claimedAudience == .string(audience) else { throw .wrongAudience }

    let issuedAt = try Self.date("iat", in: claims)
    let expirationTime = try Self.date("exp", in: claims)
    let now = isStrict ? now - Self.strictLag : now
    let latestStart = isStrict ? now : now + Self.clockSkew
    guard issuedAt <= latestStart else { throw .issuedInFuture }
    guard expirationTime > now else { throw .expired }
    guard expirationTime > issuedAt else { throw .expired }
    guard expirationTime - issuedAt <= Self.maximumLifetime else { throw .livesTooLong }
    if claims["nbf"] != nil {
      guard try Self.date("nbf", in: claims) <= latestStart else { throw .notYetValid }
    }

    guard let jwtID = claims["jti"] else { throw .missing("jti") }
    guard let jwtID = jwtID.string, !jwtID.isEmpty, jwtID.utf8.count <= Self.maximumJWTIDLength else {
      throw .unusableJWTID
    }
    return Verified(jwtID: jwtID, expirationTime: expirationTime)
  }

  /// A date claim in whole seconds, within a range in which later calculations cannot overflow.
  private static func date(_ name: String, in claims: JSONObject) throws(AssertionFailure) -> Int64 {
    guard let claim = claims[name] else { throw .missing(name) }
    guard let seconds = claim.int(in: 0...(1 << 40)) else { throw .notADate(name) }
    return seconds
  }
}
