// Tests of JSON Web Keys and of how a token's key is chosen from a set.

import JSON
import Testing

@testable import JOSE

@Suite struct JWKSetTests {
  static func ec(_ extra: JSONObject = [:]) -> JSONValue {
    var jwk = JWSTests.exampleKey.object ?? [:]
    for (name, value) in extra.members { jwk[name] = value }
    return .object(jwk)
  }

  private func set(_ keys: [JSONValue], symmetric: Bool = false) throws(JWKSetError) -> JWKSet {
    try JWKSet(parsing: JSONValue.object(["keys": .array(keys)]).serialized(), symmetric: symmetric)
  }

  private func failure(_ jwk: JSONValue) -> KeyError? {
    do {
      _ = try JWK(jwk)
      return nil
    } catch {
      return error
    }
  }

  @Test func `the thumbprint example of RFC 7638 holds`() throws {
    let modulus = [
      "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n",
      "3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgd",
      "AZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-",
      "kEgU8awapJzKnqDKgw",
    ].joined()
    let key = try PublicKey(jwk: [
      "kty": "RSA", "n": .string(modulus), "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
    ])
    // RFC 7638's thumbprint is the digest of these members in this order.
    let thumbprint = Base64URL.encode(SHA256.digest(key.jwk().serialized()))
    #expect(thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    #expect(key.kind == .rsa(bits: 2048))
  }

  @Test func `a key allows what it fits, or the one algorithm it names`() throws {
    #expect(try JWK(Self.ec()).algorithms == [.ES256])
    let rsa = try PublicKey(KeyFixtures.rsa2048Public).jwk()
    #expect(try JWK(.object(rsa)).algorithms == [.PS256, .PS384, .PS512, .RS256, .RS384, .RS512])
    var fixed = rsa
    fixed["alg"] = "RS256"
    #expect(try JWK(.object(fixed)).algorithms == [.RS256])
    let signer = try Signer(key: PrivateKey(KeyFixtures.rsa2048), algorithm: .PS256)
    let token = try JWS.Compact(parsing: Array(try JWS.sign(header: [:], payload: [], with: signer).utf8))
    #expect(try token.verify(with: JWK(.object(rsa))))
    #expect(try !token.verify(with: JWK(.object(fixed))))
  }

  @Test(
    arguments: [
      (["use": "enc"], "use is not sig"), (["use": 1], "use is not a string"),
      (["key_ops": ["sign"]], "key_ops does not allow verify"),
      (["key_ops": []], "key_ops does not allow verify"),
      (["key_ops": "verify"], "key_ops does not allow verify"),
      (["key_ops": ["verify", "verify"]], "key_ops does not allow verify"),
      (["alg": "ES521"], "alg is not supported"), (["alg": "HS256"], "alg is not supported"),
      (["alg": "none"], "alg is not supported"), (["alg": 1], "alg is not a string"),
      (["kid": 1], "kid is not a string"),
      (["crv": "P-384"], "x or y does not have the length of the curve"),
      (["crv": "secp256k1"], "crv is not P-256, P-384 or P-521"),
      (["x": "AA"], "x or y does not have the length of the curve"), (["x": "!"], "x is not Base64url"),
      (["y": ""], "y is not Base64url"),
      (["y": 1], "y is missing"), (["kty": "RSA"], "n is missing"),
      (["kty": "XYZ"], "kty is not EC, RSA or OKP"),
      (["kty": "OKP"], "crv is not Ed25519"), (["kty": 1], "kty is missing"),
      (["kty": "oct", "k": "AAAA"], "a secret needs alg HS256, HS384 or HS512"),
    ] as [(JSONObject, String)])
  func `a key that cannot verify says why`(extra: JSONObject, reason: String) {
    #expect(failure(Self.ec(extra)) == .invalidJWK(reason: reason))
  }

  @Test func `a point off the curve is refused`() {
    let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a4"
    guard case .invalid = failure(Self.ec(["y": .string(y)])) else {
      Issue.record("accepted")
      return
    }
  }

  @Test(arguments: ["", "AQ", "Ag", "AAE", "AA", "AQAAAAAAAAAAAQ"])
  func `an RSA exponent that makes no sense is refused`(exponent: String) throws {
    var jwk = try PublicKey(KeyFixtures.rsa2048Public).jwk()
    jwk["e"] = .string(exponent)
    #expect(failure(.object(jwk)) != nil)
  }

  /// Java's `BigInteger.toByteArray` writes a zero octet in front (RFC 7518 §6.3.1.1).
  @Test func `zero octets before the numbers of an RSA key mean nothing`() throws {
    let original = try PublicKey(KeyFixtures.rsa2048Public)
    let modulus = try KeyMembers.base64URL(original.jwk()["n"])
    var padded = original.jwk()
    padded["n"] = .string(Base64URL.encode([0, 0] + modulus))
    padded["e"] = "AAEAAQ"
    let key = try PublicKey(jwk: .object(padded))
    #expect(key == original && key.thumbprint == original.thumbprint && key.kind == .rsa(bits: 2048))

    let signer = try Signer(key: PrivateKey(KeyFixtures.rsa2048), algorithm: .RS256)
    let token = try JWS.Compact(parsing: Array(try JWS.sign(header: [:], payload: [], with: signer).utf8))
    #expect(try token.verify(with: JWK(.object(padded))))

    // Both spellings are the same key.
    var plain = original.jwk()
    plain["kid"] = "a"
    padded["kid"] = "a"
    let read = try set([.object(plain), .object(padded)])
    #expect(read.keys.count == 1 && read.skipped.isEmpty)
  }

  @Test func `an RSA modulus that is short, zero or even is refused`() throws {
    let original = try PublicKey(KeyFixtures.rsa2048Public).jwk()
    let modulus = try KeyMembers.base64URL(original["n"])
    var even = modulus
    even[255] &= 0xFE
    let short: [UInt8] = [0] + modulus.dropLast()
    for bad in [short, [0, 0], Array(modulus.dropLast()), even, [UInt8](repeating: 0xFF, count: 1025)] {
      var jwk = original
      jwk["n"] = .string(Base64URL.encode(bad))
      #expect(failure(.object(jwk)) != nil, "\(bad.count) bytes")
    }
  }

  @Test func `private members are noticed and not used`() throws {
    let key = try JWK(Self.ec(["d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"]))
    #expect(key.hasPrivateMembers)
    #expect(try !JWK(Self.ec()).hasPrivateMembers)
  }

  @Test func `a set passes over what it cannot use and says so`() throws {
    let unknown: JSONValue = ["kty": "AKP", "kid": "pq"]
    let read = try set([
      Self.ec(["kid": "a"]), unknown, Self.ec(["use": "enc", "kid": "a"]), ["kty": "oct", "k": "AA"], 1,
    ])
    #expect(read.keys.count == 1)
    #expect(read.skipped.map(\.index) == [1, 2, 3, 4])
    #expect(read.skipped.map(\.keyID) == ["pq", "a", nil, nil])
    #expect(read.skipped[2].reason == .invalidJWK(reason: "a secret in a public set"))
  }

  @Test func `a token's kid chooses, and an unknown one is replaced by nothing`() throws {
    let p384 = try PublicKey(jwk: .object(PrivateKey(KeyFixtures.p384).publicKey.jwk()))
    var other = p384.jwk()
    other["kid"] = "b"
    let two = try set([Self.ec(["kid": "a"]), .object(other)])
    #expect(two.candidates(named: "a", algorithm: "ES256")?.map(\.keyID) == ["a"])
    #expect(two.candidates(named: "b", algorithm: "ES384")?.map(\.keyID) == ["b"])
    #expect(two.candidates(named: "a", algorithm: "ES384")?.count == 0)
    #expect(two.candidates(named: "c", algorithm: "ES256") == nil)
    let one = try set([Self.ec(["kid": "a"])])
    #expect(one.candidates(named: nil, algorithm: "ES256")?.map(\.keyID) == ["a"])
    #expect(one.candidates(named: "b", algorithm: "ES256") == nil)
    #expect(try set([Self.ec()]).candidates(named: "a", algorithm: "ES256") == nil)
    #expect(try set([]).candidates(named: nil, algorithm: "ES256") == nil)
  }

  @Test func `a token without a kid has the one key that allows its algorithm`() throws {
    let rsa = try PublicKey(KeyFixtures.rsa2048Public).jwk()
    let two = try set([Self.ec(["kid": "a"]), .object(rsa)])
    #expect(two.candidates(named: nil, algorithm: "ES256")?.map(\.keyID) == ["a"])
    #expect(two.candidates(named: nil, algorithm: "RS512")?.count == 1)
    #expect(two.candidates(named: nil, algorithm: "EdDSA") == nil)
    #expect(
      try set([.object(rsa), .object(try Self.rsa())]).candidates(named: nil, algorithm: "RS256") == nil)
  }

  /// An RSA key of its own, with further members.
  private static func rsa(_ extra: JSONObject = [:]) throws -> JSONObject {
    var jwk = try PrivateKey.generate(for: .RS256).publicKey.jwk()
    for (name, value) in extra.members { jwk[name] = value }
    return jwk
  }

  @Test func `a key that is published twice under one kid, for RS256 and for RS512, verifies both`() throws {
    let key = try PrivateKey.generate(for: .RS256)
    func entry(_ algorithm: String) -> JSONValue {
      var jwk = key.publicKey.jwk()
      jwk["kid"] = "a"
      jwk["alg"] = .string(algorithm)
      return .object(jwk)
    }
    let read = try set([entry("RS256"), entry("RS512"), entry("RS256")])
    #expect(read.keys.count == 2 && read.skipped.isEmpty)
    for algorithm in [SignatureAlgorithm.RS256, .RS512] {
      let text = try JWS.sign(header: ["kid": "a"], payload: [], with: Signer(key: key, algorithm: algorithm))
      let token = try JWS.Compact(parsing: Array(text.utf8))
      let candidates = try #require(read.candidates(named: "a", algorithm: algorithm.rawValue))
      #expect(candidates.count == 1 && token.verify(with: candidates[0]))
    }
    #expect(read.candidates(named: "a", algorithm: "RS384")?.count == 0)
  }

  @Test func `Ed25519 and EdDSA are two names of one algorithm, in a key and in a token`() throws {
    let key = try PrivateKey.generate(for: .EdDSA)
    func entry(_ algorithm: String?) -> JSONValue {
      var jwk = key.publicKey.jwk()
      jwk["kid"] = "a"
      jwk["alg"] = algorithm.map { .string($0) }
      return .object(jwk)
    }
    let signer = try Signer(key: key, algorithm: .EdDSA)
    for published in ["Ed25519", "EdDSA", nil] {
      let read = try set([entry(published)])
      for named in ["Ed25519", "EdDSA"] {
        let header: JSONObject = ["alg": .string(named), "kid": "a"]
        let input = Base64URL.encode(header.serialized()) + "." + Base64URL.encode(Array("{}".utf8))
        let signature = Base64URL.encode(try signer.sign(Array(input.utf8)))
        let token = try JWS.Compact(parsing: Array("\(input).\(signature)".utf8))
        let candidates = try #require(read.candidates(named: "a", algorithm: named))
        #expect(candidates.count == 1 && token.verify(with: candidates[0]))
      }
      #expect(read.candidates(named: "a", algorithm: "Ed448")?.count == 0)
      #expect(read.candidates(named: "a", algorithm: "ed25519")?.count == 0)
    }
    let twice = try set([entry("Ed25519"), entry("EdDSA")])
    #expect(twice.keys.count == 1 && twice.skipped.isEmpty)
    #expect(failure(Self.ec(["alg": "Ed25519"])) == .unfit(.p256, .EdDSA))
  }

  @Test func `of keys that share a kid each one that allows the algorithm is tried`() throws {
    let (first, second) = (try PrivateKey.generate(for: .RS256), try PrivateKey.generate(for: .RS256))
    var (open, fixed) = (first.publicKey.jwk(), second.publicKey.jwk())
    open["kid"] = "a"
    fixed["kid"] = "a"
    fixed["alg"] = "RS256"
    let read = try set([.object(open), .object(fixed), Self.ec(["kid": "a"])])
    #expect(read.keys.count == 3 && read.skipped.isEmpty)
    let candidates = try #require(read.candidates(named: "a", algorithm: "RS256"))
    #expect(candidates.count == 2)
    for key in [first, second] {
      let text = try JWS.sign(header: ["kid": "a"], payload: [], with: Signer(key: key, algorithm: .RS256))
      let token = try JWS.Compact(parsing: Array(text.utf8))
      #expect(candidates.contains { token.verify(with: $0) })
    }
    #expect(read.candidates(named: "a", algorithm: "ES256")?.count == 1)
  }

  @Test func `keys that a token cannot tell apart are left out, and the other keys stay`() throws {
    let read = try set([
      .object(Self.rsa(["kid": "a", "alg": "RS256"])), .object(Self.rsa(["kid": "b", "alg": "RS256"])),
      .object(Self.rsa(["kid": "a", "alg": "RS256"])), .object(Self.rsa(["kid": "a", "alg": "RS512"])),
    ])
    #expect(read.keys.map(\.keyID) == ["b", "a"])
    #expect(read.skipped.map(\.index) == [0, 2] && read.skipped.map(\.keyID) == ["a", "a"])
    #expect(read.candidates(named: "a", algorithm: "RS256")?.count == 0)
    #expect(read.candidates(named: "a", algorithm: "RS512")?.count == 1)
  }

  @Test func `a damaged twin and an encryption key leave the good key of their kid in use`() throws {
    let damaged = Self.ec(["kid": "a", "x": "AA"])
    let read = try set([damaged, Self.ec(["kid": "a"]), .object(Self.rsa(["kid": "a", "use": "enc"]))])
    #expect(read.keys.count == 1 && read.skipped.map(\.index) == [0, 2])
    #expect(read.candidates(named: "a", algorithm: "ES256")?.count == 1)
  }

  @Test func `keys beyond the limit are left out, and an odd key fells no other`() throws {
    var deep: JSONValue = 1
    for _ in 0..<20 { deep = [deep] }
    var many = JSONObject()
    for number in 0..<100 { many.append("x\(number)", 1) }
    for odd in [JSONValue.object(["kty": "EC", "x5c": deep]), .object(many), "text", .null] {
      #expect(try set([odd, Self.ec(["kid": "a"])]).keys.count == 1)
    }
    let full = try set([JSONValue](repeating: 1, count: 63) + [Self.ec(), Self.ec(["kid": "a"])])
    #expect(full.keys.map(\.keyID) == [nil])
    #expect(full.skipped.last?.index == 64 && full.skipped.count == 64)
  }

  @Test func `JSON that is not a key set is refused`() throws {
    #expect(throws: JWKSetError.noKeys) { try JWKSet(parsing: Array("{}".utf8)) }
    #expect(throws: JWKSetError.noKeys) { try JWKSet(parsing: Array("[]".utf8)) }
    #expect(throws: JWKSetError.noKeys) { try JWKSet(parsing: Array(#"{"keys":{}}"#.utf8)) }
    #expect(throws: JWKSetError.self) { try JWKSet(parsing: Array("<html>".utf8)) }
    let secret: JSONValue = ["kty": "oct", "alg": "HS256", "k": .string(JWSTests.macKey)]
    #expect(try set([secret], symmetric: true).keys.count == 1)
    #expect(throws: JWKSetError.mixedKeys) { try set([secret, Self.ec()], symmetric: true) }
  }

  /// Checking a large modulus takes a tenth of a second, and whoever publishes a set could fill it with such
  /// keys.
  @Test func `an RSA key of more than 4096 bits is passed over without being looked at`() throws {
    func key(_ bits: Int, zeros: Int = 0) -> JSONValue {
      let front = [UInt8](repeating: 0, count: zeros)
      let modulus = front + [0xC5] + [UInt8](repeating: 0x5A, count: bits / 8 - 2) + [0x0B]
      return ["kty": "RSA", "e": "AQAB", "n": .string(Base64URL.encode(modulus))]
    }
    let large = try set([JSONValue](repeating: key(8192), count: JWKSet.maximumKeys))
    #expect(large.keys.isEmpty && large.skipped.count == JWKSet.maximumKeys)
    let reason = KeyError.invalidJWK(reason: "an RSA key in a set has at most 4096 bits")
    #expect(large.skipped.allSatisfy { $0.reason == reason })
    #expect(try set([key(4104)]).skipped.map(\.reason) == [reason])
    #expect(try set([key(4096)]).skipped.allSatisfy { $0.reason != reason })
    #expect(try set([key(4096, zeros: 1)]).skipped.allSatisfy { $0.reason != reason })
    let small = try PublicKey(KeyFixtures.rsa2048Public).jwk()
    #expect(try set([.object(small), key(8192)]).keys.map(\.algorithms.count) == [6])
    let time = try ContinuousClock().measure {
      _ = try set([JSONValue](repeating: key(8192), count: JWKSet.maximumKeys))
    }
    #expect(time < .seconds(1))
  }
}
