// Tests with Project Wycheproof's vectors of known attacks and edge cases.

import JSON
import TestSupport
import Testing

@testable import JOSE

/// Project Wycheproof's vectors of attacks and edge cases, with the verdicts of their authors.
@Suite struct WycheproofTests {
  /// Compares the verdict on every case of a table with its authors'. Cases that they call "acceptable" must
  /// be refused here. Returns the number of cases.
  private func run(_ name: String, _ verdict: (Vector) throws -> Bool) throws -> Int {
    let vectors = try Vector.table("wycheproof/\(name)")
    for vector in vectors {
      #expect(try verdict(vector) == vector.isValid(), "\(vector)")
    }
    return vectors.count
  }

  @Test(arguments: [
    ("ecdsa_secp256r1_sha256_p1363", SignatureAlgorithm.ES256, 262),
    ("ecdsa_secp384r1_sha384_p1363", .ES384, 280), ("ecdsa_secp521r1_sha512_p1363", .ES512, 318),
    ("ed25519", .EdDSA, 151), ("rsa_signature_2048_sha256", .RS256, 259),
    ("rsa_signature_3072_sha256", .RS256, 259), ("rsa_signature_4096_sha256", .RS256, 258),
    ("rsa_pss_2048_sha256_mgf1_32", .PS256, 108),
  ])
  func `signatures are judged`(name: String, algorithm: SignatureAlgorithm, count: Int) throws {
    // "Acceptable" are PKCS#1 signatures without the NULL of the digest's parameters.
    var keys: [String: PublicKey] = [:]
    let judged = try run(name) { vector in
      let text = try vector.text("key")
      let key = try keys[text] ?? PublicKey(vector.octets("key"))
      keys[text] = key
      return try key.verify(
        signature: vector.octets("signature"), of: vector.octets("message"), algorithm: algorithm)
    }
    #expect(judged == count)
  }

  @Test func `DER signatures are judged through the strict conversion`() throws {
    let judged = try run("ecdsa_secp256r1_sha256") { vector in
      let key = try PublicKey(vector.octets("key"))
      guard let joined = ECDSASignature.joined(fromDER: try vector.octets("signature"), size: 32) else {
        return false
      }
      return try key.verify(signature: joined, of: vector.octets("message"), algorithm: .ES256)
    }
    #expect(judged == 484)
  }

  @Test(arguments: [
    (DigestAlgorithm.sha1, 170), (.sha256, 174), (.sha384, 174), (.sha512, 174),
  ])
  func `message authentication codes are judged`(digest: DigestAlgorithm, count: Int) throws {
    let judged = try run("hmac_\(digest.rawValue.lowercased())") { vector in
      let tag = try vector.octets("code")
      let code = HMAC.code(try vector.octets("message"), key: try vector.octets("key"), digest)
      return constantTimeEqual(digest: Array(code.prefix(tag.count)), digest: tag)
    }
    #expect(judged == count)
  }

  /// Whether a token verifies against its keys, read by the strict `JWKSet`.
  private func accepts(_ vector: Vector) throws -> Bool {
    let given = try vector.json("keys")
    let set: JSONValue = given["keys"] == nil ? ["keys": [given]] : given
    do {
      let keys = try JWKSet(parsing: set.serialized(), symmetric: true)
      let jws = try JWS.Compact(parsing: Array(try vector.text("token").utf8))
      let candidates = keys.candidates(named: jws.keyID, algorithm: jws.algorithmName) ?? []
      return candidates.contains { jws.verify(with: $0) }
    } catch {
      return false
    }
  }

  /// Two cases with the same bytes as case 357, which is valid. The padding that they are meant to test was
  /// lost.
  static let mislabelled: Set = [367, 370]

  /// Cases that their authors call valid and this server refuses: keys whose `alg` differs from the token's
  /// (or is the misspelled `ES521`), and Base64url with a stray character.
  static let stricter: [Int: String] = [
    346: "alg PS256 and a PS384 token", 347: "alg ES521", 350: "alg PS256 and a PS384 token",
    351: "alg ES521",
    372: "stray character", 373: "stray character",
  ]

  @Test func `JSON web signatures are judged`() throws {
    var stricter: Set<Int> = []
    let vectors = try Vector.table("wycheproof/json_web_signature")
    for vector in vectors {
      let id = try vector.number("id")
      let accepted = try accepts(vector)
      if Self.stricter[id] != nil {
        #expect(try !accepted && vector.isValid(), "\(vector)")
        stricter.insert(id)
      } else {
        #expect(try accepted == (vector.isValid() || Self.mislabelled.contains(id)), "\(vector)")
      }
    }
    #expect(vectors.count == 401)
    #expect(stricter == Set(Self.stricter.keys))
  }

  @Test func `JSON web keys are judged`() throws {
    // The second key of case 4 has the kid of the first and is not Base64url (RFC 4648 §3.5). It is left out, so the first one verifies.
    let count = try run("json_web_key") { vector in
      try vector.text("id") == "4" ? !accepts(vector) : accepts(vector)
    }
    #expect(count == 26)
  }

  @Test func `mixed JOSE objects are judged`() throws {
    let count = try run("json_web_crypto") { vector in
      // Encrypted tokens have five parts. All of them are refused here.
      if try vector.text("form") == "jwe" {
        #expect(throws: JWSError.self) { try JWS.Compact(parsing: Array(try vector.text("token").utf8)) }
        return try vector.isValid()
      }
      return try accepts(vector)
    }
    #expect(count == 83)
  }
}
