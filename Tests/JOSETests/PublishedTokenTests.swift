// Tests with the published tokens of the JOSE cookbook and of RFC 7515.

import JSON
import TestSupport
import Testing

@testable import JOSE

/// Tokens of the JOSE cookbook (RFC 7520) and of RFC 7515's appendix, and invalid tokens made from these.
@Suite struct PublishedTokenTests {
  /// Verifies with a JWK whose algorithm may be in the table instead of in the JWK.
  private func verifies(_ token: JWS.Compact, _ vector: Vector) throws -> Bool {
    let jwk = try vector.json("key")
    let algorithm = try vector.text("algorithm")
    if let mac = MACAlgorithm(rawValue: algorithm) {
      guard jwk["kty"] == "oct" else { return false }
      let key = try SymmetricKey(Secret(try KeyMembers.base64URL(jwk["k"])), algorithm: mac)
      return token.verify(with: key)
    }
    let signature = try #require(SignatureAlgorithm(rawValue: algorithm))
    return token.verify(with: try PublicKey(jwk: jwk), algorithm: signature)
  }

  private func token(_ vector: Vector) throws -> [UInt8] { Array(try vector.text("token").utf8) }

  @Test func `the examples of RFC 7515 are accepted and the unsecured one is not`() throws {
    let examples = try Vector.table("jose/rfc7515")
    #expect(examples.count == 5)
    for example in examples {
      guard try example.isValid() else {
        #expect(throws: JWSError.unsecured) { try JWS.Compact(parsing: try self.token(example)) }
        continue
      }
      let token = try JWS.Compact(parsing: try token(example))
      #expect(try verifies(token, example))
      #expect(try token.payload == example.octets("payload"))
    }
  }

  @Test func `not one of the negative tokens is accepted`() throws {
    let negatives = try Vector.table("jose/negative")
    #expect(negatives.count == 57)
    for negative in negatives {
      let accepted: Bool
      do {
        accepted = try verifies(try JWS.Compact(parsing: try negative.octets("octets")), negative)
      } catch is JWSError {
        accepted = false
      }
      #expect(!accepted, "\(negative)")
    }
  }

  /// HOTP (RFC 4226) is truncated HMAC-SHA-1, so its vectors check the SHA-1 code.
  @Test func `the one-time passwords of RFC 4226 come out of HMAC`() throws {
    let cases = try Vector.table("jose/rfc4226")
    #expect(cases.count == 10)
    for item in cases {
      let counter = UInt64(try item.number("counter"))
      let message = (0..<8).reversed().map { UInt8(truncatingIfNeeded: counter >> (8 * UInt64($0))) }
      let code = HMAC.code(message, key: Secret(try item.text("secret")), .sha1)
      let offset = Int(code[19] & 15)
      let number = code[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
      let text = String(number % 1_000_000)
      #expect(try String(repeating: "0", count: 6 - text.count) + text == item.text("value"))
    }
  }

  @Test(arguments: [
    "jws/4_1.rsa_v15_signature", "jws/4_2.rsa-pss_signature", "jws/4_3.ecdsa_signature",
    "jws/4_4.hmac-sha2_integrity_protection", "curve25519/jws",
  ])
  func `the cookbook's compact tokens are accepted`(name: String) throws {
    let example = try Vector.one(name, of: "jose/cookbook")
    let token = try JWS.Compact(parsing: try token(example))
    #expect(try verifies(token, example))
    #expect(try token.payload == example.octets("payload"))
  }

  @Test(arguments: ["jws/4_1.rsa_v15_signature", "jws/4_4.hmac-sha2_integrity_protection", "curve25519/jws"])
  func `the cookbook's reproducible tokens are made byte for byte`(name: String) throws {
    let example = try Vector.one(name, of: "jose/cookbook")
    let header = try #require(example.json("header").object)
    let payload = try example.octets("payload")
    let jwk = try example.json("key")
    let token: String
    if jwk["kty"] == "oct" {
      let secret = Secret(try KeyMembers.base64URL(jwk["k"]))
      token = JWS.sign(header: header, payload: payload, with: try SymmetricKey(secret, algorithm: .HS256))
    } else {
      let algorithm = try #require(SignatureAlgorithm(rawValue: example.text("algorithm")))
      let signer = try Signer(key: KeyMembers.privateKey(jwk), algorithm: algorithm)
      token = try JWS.sign(header: header, payload: payload, with: signer)
    }
    #expect(try token == example.text("token"))
  }

  @Test func `detached content needs its content, and unencoded content is refused`() throws {
    let detached = try Vector.one("jws/4_5.signature_with_detached_content", of: "jose/cookbook")
    #expect(try !verifies(try JWS.Compact(parsing: try token(detached)), detached))
    let unencoded = try Vector.one("rfc7797/hmac-sha2_b64_false", of: "jose/cookbook")
    #expect(throws: JWSError.self) { try JWS.Compact(parsing: try self.token(unencoded)) }
  }

  private func key(_ name: String) throws -> JSONValue {
    try Vector.one(name, of: "jose/cookbook-keys").json("key")
  }

  @Test func `the cookbook's keys are read`() throws {
    #expect(try PublicKey(jwk: key("3_1.ec_public_key")).kind == .p521)
    let ec = try key("3_2.ec_private_key")
    #expect(try JWK(ec).hasPrivateMembers)
    #expect(try KeyMembers.privateKey(ec).publicKey == PublicKey(jwk: ec))
    let rsa = try key("3_4.rsa_private_key")
    #expect(try KeyMembers.privateKey(rsa).publicKey == PublicKey(jwk: rsa))
    #expect(try PublicKey(jwk: rsa) == PublicKey(jwk: key("3_3.rsa_public_key")))
    guard case .symmetric(let secret) = try JWK(key("3_5.symmetric_key_mac_computation")).material else {
      Issue.record("not a secret")
      return
    }
    #expect(secret.algorithm == .HS256)
    #expect(throws: KeyError.self) { try JWK(self.key("3_6.symmetric_key_encryption")) }
  }
}
