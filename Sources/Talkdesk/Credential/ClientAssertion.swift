// Builds and signs the JWT that authenticates the client to Talkdesk ID.

public import JOSE
import JSON
public import Platform

/// The signed JWT that authenticates the client at the token endpoint. Sources: RFC 7523 §3, and Talkdesk's
/// reference page "cc-jwt".
public enum ClientAssertion {
  /// The maximum lifetime of an assertion, in seconds. Talkdesk documents no maximum, and all of its samples
  /// use this value.
  public static let maximumLifetime: Int64 = 300

  /// Makes and signs an assertion.
  ///
  /// - Parameters:
  ///   - clientID: the OAuth client's id, which is both issuer and subject.
  ///   - keyID: the `kid` that Talkdesk issued with the key.
  ///   - signer: the key, with the algorithm that Talkdesk issued with it.
  ///   - audience: one string, never a list: an assertion for several audiences could be replayed between
  ///     them.
  ///   - now: the wall clock's reading. `iat` is `JWS.issuedAtMargin` before it.
  ///   - lifetime: seconds from `iat` to `exp`, 31–300.
  ///   - jwtID: the `jti`. It must never repeat.
  /// - Returns: the compact serialization.
  /// - Throws: the signer's error.
  public static func make(
    clientID: String, keyID: String, signer: Signer, audience: String, now: UnixTime,
    lifetime: Int64 = maximumLifetime, jwtID: String = freshID()
  ) throws(OpenSSLError) -> String {
    let input = input(
      clientID: clientID, keyID: keyID, algorithm: signer.algorithm, audience: audience, now: now,
      lifetime: lifetime, jwtID: jwtID)
    return JWS.token(input, signature: try signer.sign(input))
  }

  /// The signing input of an assertion. The parameters are those of `make`.
  static func input(
    clientID: String, keyID: String, algorithm: SignatureAlgorithm, audience: String, now: UnixTime,
    lifetime: Int64 = maximumLifetime, jwtID: String = freshID()
  ) -> [UInt8] {
    precondition(
      (JWS.issuedAtMargin + 1...maximumLifetime).contains(lifetime),
      "an assertion that has expired, or lives too long")
    let issuedAt = now.advanced(bySeconds: -JWS.issuedAtMargin).seconds
    let claims: JSONObject = [
      "iss": .string(clientID),
      "sub": .string(clientID),
      "aud": .string(audience),
      "jti": .string(jwtID),
      "iat": .number(JSONNumber(issuedAt)),
      "exp": .number(JSONNumber(issuedAt + lifetime)),
    ]
    let header: JSONObject = [
      "alg": .string(algorithm.rawValue), "kid": .string(keyID), "typ": "JWT",
    ]
    return JWS.signingInput(header: header, payload: claims.serialized())
  }

  /// A random UUID (RFC 9562 §5.4), 122 bits from the system's generator, as in Talkdesk's samples.
  public static func freshID() -> String {
    var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hex.encode(Array(bytes[$0])) }.joined(separator: "-")
  }
}
