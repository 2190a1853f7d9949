// Builds and signs the JWT that authenticates the client to Talkdesk ID.

public import JOSE
import JSON
public import Platform

/// The signed JWT that authenticates the client at the token endpoint (RFC 7523 §3; Talkdesk's reference page "cc-jwt").
public enum ClientAssertion {
  /// The longest life, in seconds: what every one of Talkdesk's own samples uses. A maximum is not documented, so no
  /// assertion ever asks for more.
  public static let maximumLifetime: Int64 = 300

  /// Makes and signs an assertion.
  ///
  /// - Parameters:
  ///   - clientID: becomes both issuer and subject.
  ///   - keyID: the `kid` Talkdesk gave with the key.
  ///   - signer: the key, with the algorithm Talkdesk gave with it.
  ///   - audience: one string, never a list: an assertion for several audiences could be replayed between them.
  ///   - issuedAt: the wall clock's reading.
  ///   - lifetime: seconds until it expires, 1–300.
  ///   - jwtID: must never repeat.
  /// - Returns: the compact serialisation.
  /// - Throws: the signer's error.
  public static func make(
    clientID: String, keyID: String, signer: Signer, audience: String, issuedAt: UnixTime,
    lifetime: Int64 = maximumLifetime, jwtID: String = freshID()
  ) throws(OpenSSLError) -> String {
    precondition((1...maximumLifetime).contains(lifetime), "an assertion lives 1 to 300 seconds")
    let claims: JSONObject = [
      "iss": .string(clientID),
      "sub": .string(clientID),
      "aud": .string(audience),
      "jti": .string(jwtID),
      "iat": .number(JSONNumber(issuedAt.seconds)),
      "exp": .number(JSONNumber(issuedAt.seconds + lifetime)),
    ]
    let header: JSONObject = [
      "alg": .string(signer.algorithm.rawValue), "kid": .string(keyID), "typ": "JWT",
    ]
    return try JWS.sign(header: header, payload: claims.serialized(), with: signer)
  }

  private static let digits = Array("0123456789abcdef".utf8)

  /// A random UUID (RFC 9562 §5.4), 122 bits from the system's generator, as in Talkdesk's samples.
  public static func freshID() -> String {
    var generator = SystemRandomNumberGenerator()
    let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for place in 0..<32 {
      if place == 8 || place == 12 || place == 16 || place == 20 { text.append(0x2D) }
      let word = place < 16 ? high : low
      text.append(digits[Int(word >> UInt64(60 - 4 * (place % 16)) & 0xF)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
