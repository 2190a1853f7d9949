import JSON
import Testing

@testable import JOSE

/// The JOSE cookbook (RFC 7520), RFC 7515's appendix and the negative tokens made from it.
@Suite(.enabled(if: SharedVectors.folder != nil)) struct PublishedTokenTests {
  /// Verifies with a JWK whose algorithm may stand beside it instead of in it.
  private func verifies(_ token: JWS.Compact, _ jwk: JSONValue, _ algorithm: String) throws -> Bool {
    if let mac = MACAlgorithm(rawValue: algorithm) {
      guard jwk["kty"] == "oct" else { return false }
      let key = try SymmetricKey(Secret(try SharedVectors.base64URL(jwk["k"])), algorithm: mac)
      return token.verify(with: key)
    }
    let signature = try #require(SignatureAlgorithm(rawValue: algorithm))
    return token.verify(with: try PublicKey(jwk: jwk), algorithm: signature)
  }

  @Test func `the examples of RFC 7515 are accepted and the unsecured one is not`() throws {
    let examples = try SharedVectors.array(SharedVectors.read("jws_totp_vectors.json")["jws"])
    #expect(examples.count == 5)
    for example in examples {
      let text = try SharedVectors.bytes(example["compact"])
      guard example["accept"] == true else {
        #expect(throws: JWSError.unsecured) { try JWS.Compact(parsing: text) }
        continue
      }
      let token = try JWS.Compact(parsing: text)
      #expect(try verifies(token, #require(example["jwk"]), try SharedVectors.text(example["alg"])))
      #expect(String(decoding: token.payload, as: UTF8.self) == example["payload"]?.string)
    }
  }

  @Test func `not one of the negative tokens is accepted`() throws {
    let negatives = try SharedVectors.array(SharedVectors.read("jws_totp_vectors.json")["jws_negative"])
    #expect(negatives.count == 57)
    for negative in negatives {
      let text = try SharedVectors.bytes(negative["compact"])
      let algorithm = try SharedVectors.text(negative["expected_alg"])
      let jwk = try #require(negative["jwk"])
      let accepted: Bool
      do {
        accepted = try verifies(try JWS.Compact(parsing: text), jwk, algorithm)
      } catch is JWSError {
        accepted = false
      }
      #expect(!accepted, "\(negative["id"]?.string ?? "") \(negative["why"]?.string ?? "")")
    }
  }

  /// HOTP of RFC 4226 is HMAC-SHA-1 cut short: a published check of the SHA-1 code.
  @Test func `the one-time passwords of RFC 4226 come out of HMAC`() throws {
    let cases = try SharedVectors.array(SharedVectors.read("jws_totp_vectors.json")["hotp"])
    #expect(cases.count == 10)
    for item in cases {
      let counter = UInt64(try #require(item["counter"]?.int))
      let message = (0..<8).reversed().map { UInt8(truncatingIfNeeded: counter >> (8 * UInt64($0))) }
      let code = HMAC.code(message, key: Secret(try SharedVectors.text(item["secret_ascii"])), .sha1)
      let offset = Int(code[19] & 15)
      let number = code[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
      let text = String(number % 1_000_000)
      #expect(String(repeating: "0", count: 6 - text.count) + text == item["value"]?.string)
    }
  }

  @Test(arguments: [
    "jws/4_1.rsa_v15_signature", "jws/4_2.rsa-pss_signature", "jws/4_3.ecdsa_signature",
    "jws/4_4.hmac-sha2_integrity_protection", "curve25519/jws",
  ])
  func `the cookbook's compact tokens are accepted`(name: String) throws {
    let example = try SharedVectors.read("jose-cookbook/\(name).json")
    let input = try #require(example["input"])
    let token = try JWS.Compact(parsing: try SharedVectors.bytes(example["output"]?["compact"]))
    #expect(try verifies(token, #require(input["key"]), try SharedVectors.text(input["alg"])))
    #expect(try token.payload == SharedVectors.bytes(input["payload"]))
  }

  @Test(arguments: ["jws/4_1.rsa_v15_signature", "jws/4_4.hmac-sha2_integrity_protection", "curve25519/jws"])
  func `the cookbook's reproducible tokens are made byte for byte`(name: String) throws {
    let example = try SharedVectors.read("jose-cookbook/\(name).json")
    let input = try #require(example["input"])
    let header = try #require(example["signing"]?["protected"]?.object)
    let payload = try SharedVectors.bytes(input["payload"])
    let jwk = try #require(input["key"])
    let token: String
    if jwk["kty"] == "oct" {
      let secret = Secret(try SharedVectors.base64URL(jwk["k"]))
      token = JWS.sign(header: header, payload: payload, with: try SymmetricKey(secret, algorithm: .HS256))
    } else {
      let algorithm = try SharedVectors.algorithm(input["alg"])
      let signer = try Signer(key: SharedVectors.privateKey(jwk), algorithm: algorithm)
      token = try JWS.sign(header: header, payload: payload, with: signer)
    }
    #expect(token == example["output"]?["compact"]?.string)
  }

  @Test func `detached content needs its content, and unencoded content is refused`() throws {
    let detached = try SharedVectors.read("jose-cookbook/jws/4_5.signature_with_detached_content.json")
    let token = try JWS.Compact(parsing: try SharedVectors.bytes(detached["output"]?["compact"]))
    #expect(try !verifies(token, #require(detached["input"]?["key"]), "HS256"))
    let unencoded = try SharedVectors.read("jose-cookbook/rfc7797/hmac-sha2_b64_false.json")
    #expect(throws: JWSError.self) {
      try JWS.Compact(parsing: try SharedVectors.bytes(unencoded["output"]?["compact"]))
    }
  }

  @Test func `the cookbook's keys are read`() throws {
    #expect(try PublicKey(jwk: SharedVectors.read("jose-cookbook/jwk/3_1.ec_public_key.json")).kind == .p521)
    let ec = try SharedVectors.read("jose-cookbook/jwk/3_2.ec_private_key.json")
    #expect(try JWK(ec).hasPrivateMembers)
    #expect(try SharedVectors.privateKey(ec).publicKey == PublicKey(jwk: ec))
    let rsa = try SharedVectors.read("jose-cookbook/jwk/3_4.rsa_private_key.json")
    #expect(try SharedVectors.privateKey(rsa).publicKey == PublicKey(jwk: rsa))
    #expect(
      try PublicKey(jwk: rsa)
        == PublicKey(jwk: SharedVectors.read("jose-cookbook/jwk/3_3.rsa_public_key.json")))
    let mac = try SharedVectors.read("jose-cookbook/jwk/3_5.symmetric_key_mac_computation.json")
    guard case .symmetric(let key) = try JWK(mac).material else {
      Issue.record("not a secret")
      return
    }
    #expect(key.kind == .symmetric(bits: 256))
    #expect(throws: KeyError.self) {
      try JWK(SharedVectors.read("jose-cookbook/jwk/3_6.symmetric_key_encryption.json"))
    }
  }
}
