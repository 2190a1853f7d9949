// Tests of which DPoP proofs are valid, and of the fault reported for each other one.

import JOSE
import JSON
import Testing

@testable import Trust

@Suite struct DPoPProofTests {
  private static let now = 1_795_000_000.0
  private static let url = "https://calls.example.com/access"
  private static let nonces = ProofNonces(keys: [Secret([UInt8](repeating: 7, count: 32))])
  private static let key = Result { try PrivateKey.generate(for: .ES256) }
  private static let other = Result { try PrivateKey.generate(for: .ES256) }

  private static func claims() -> JSONObject {
    [
      "jti": "a-new-id-for-each-proof", "htm": "GET", "htu": .string(url), "iat": seconds(0),
      "nonce": .string(nonces.nonce(now: now)),
    ]
  }

  private static func seconds(_ offset: Int64) -> JSONValue { .number(JSONNumber(Int64(now) + offset)) }

  /// A proof with changed claims and header members.
  private static func proof(
    _ changes: JSONObject = [:], without names: Set<String> = [], header: JSONObject = [:],
    withoutHeader headers: Set<String> = [], signedBy key: PrivateKey? = nil
  ) throws -> [UInt8] {
    var claims = claims()
    for (name, value) in changes.members { claims[name] = value }
    for name in names { claims[name] = nil }
    var full: JSONObject = ["typ": "dpop+jwt", "jwk": .object(try self.key.get().publicKey.jwk())]
    for (name, value) in header.members { full[name] = value }
    for name in headers { full[name] = nil }
    let signer = try Signer(key: key ?? self.key.get(), algorithm: .ES256)
    return Array(try JWS.sign(header: full, payload: claims.serialized(), with: signer).utf8)
  }

  private func fault(
    _ proof: [UInt8], method: String = "GET", url: String = url, now: Double = now,
    mayVerify: () -> Bool = { true }
  ) throws -> ProofFault? {
    let url = try #require(ComparableURL(url))
    do throws(ProofFault) {
      _ = try DPoPProof(parsing: proof).verify(
        method: method, urls: [url], nonces: Self.nonces, now: now, mayVerify: mayVerify)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a right proof names its key, and a token by its digest`() throws {
    let ath = SHA256Digest(of: Array("token".utf8))
    let octets = try Self.proof(["ath": .string(Base64URL.encode(ath.bytes))])
    let url = try #require(ComparableURL(Self.url))
    let proof = try #require(
      try DPoPProof(parsing: octets).verify(
        method: "GET", urls: [url], nonces: Self.nonces, now: Self.now, mayVerify: { true }))
    #expect(proof.key == (try Self.key.get().publicKey.thumbprint))
    #expect(proof.accessToken == ath)
    let second = try #require(
      try DPoPProof(parsing: try Self.proof(["jti": "another"])).verify(
        method: "GET", urls: [url], nonces: Self.nonces, now: Self.now, mayVerify: { true }))
    #expect(second.id != proof.id && second.accessToken == nil)
    #expect(second.headerDigest == proof.headerDigest)
  }

  @Test func `the thumbprint and the digest of RFC 9449's examples`() throws {
    let key = try PublicKey(
      jwk: [
        "kty": "EC", "crv": "P-256", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
      ])
    #expect(Base64URL.encode(key.thumbprint.bytes) == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    let token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
    #expect(
      Base64URL.encode(SHA256Digest(of: Array(token.utf8)).bytes)
        == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
  }

  @Test(arguments: [
    "", "x", "a.b", "a.b.c", "a.b.c.d", "eyJ4IjoxfQ.eyJ4IjoxfQ.AA", "eyJhbGciOiJFUzI1NiJ9.W10.AA",
  ])
  func `what is no JWT is malformed`(_ text: String) throws {
    #expect(try fault(Array(text.utf8)) == .malformed)
  }

  @Test func `a proof has at most 4,096 bytes`() throws {
    let length = try Self.proof(["x": ""]).count
    func padded(_ count: Int) throws -> [UInt8] {
      try Self.proof(["x": .string(String(repeating: "x", count: (count - length) * 3 / 4))])
    }
    var right = try padded(DPoPProof.maximumBytes)
    while right.count < DPoPProof.maximumBytes {
      right = try Self.proof(["x": .string(String(repeating: "x", count: right.count))])
    }
    #expect(try padded(DPoPProof.maximumBytes - 2).count <= DPoPProof.maximumBytes)
    #expect(try fault(padded(DPoPProof.maximumBytes - 2)) == nil)
    #expect(try fault(padded(DPoPProof.maximumBytes + 4)) == .malformed)
  }

  @Test(arguments: ["jti", "htm", "htu", "iat"])
  func `each claim has to be there, and of its type`(_ name: String) throws {
    #expect(try fault(Self.proof(without: [name])) == .missingClaim)
    #expect(try fault(Self.proof([name: true])) == .missingClaim)
    if name == "jti" { #expect(try fault(Self.proof([name: ""])) == .missingClaim) }
  }

  @Test func `the type is that of proofs`() throws {
    #expect(try fault(Self.proof(header: ["typ": "JWT"])) == .wrongType)
    #expect(try fault(Self.proof(withoutHeader: ["typ"])) == .wrongType)
  }

  /// A proof whose header names another algorithm. Its signature is an HMAC, or empty for `none`.
  private static func renamed(_ algorithm: String) throws -> [UInt8] {
    let header: JSONObject = [
      "alg": .string(algorithm), "typ": "dpop+jwt", "jwk": .object(try key.get().publicKey.jwk()),
    ]
    let input = "\(Base64URL.encode(header.serialized())).\(Base64URL.encode(claims().serialized()))"
    // An HMAC with the public key as its key: the algorithm confusion of old libraries.
    let code = HMAC.code(Array(input.utf8), key: Array(try key.get().publicKey.pem().utf8), .sha256)
    return Array("\(input).\(algorithm == "none" ? "" : Base64URL.encode(code))".utf8)
  }

  @Test(arguments: ["none", "None", "HS256", "RS256", "PS256", "ES384", "EdDSA", "es256"])
  func `no other algorithm is taken`(_ algorithm: String) throws {
    #expect(try fault(Self.renamed(algorithm)) == .wrongAlgorithm)
  }

  @Test func `the key in the header has to be a public key of P-256`() throws {
    let right = try Self.key.get().publicKey.jwk()
    func jwk(_ changes: JSONObject, without names: Set<String> = []) -> JSONObject {
      var jwk = right
      for (name, value) in changes.members { jwk[name] = value }
      for name in names { jwk[name] = nil }
      return ["jwk": .object(jwk)]
    }
    #expect(try fault(Self.proof(withoutHeader: ["jwk"])) == .wrongKey)
    #expect(try fault(Self.proof(header: ["jwk": "x"])) == .wrongKey)
    #expect(try fault(Self.proof(header: jwk([:], without: ["x"]))) == .wrongKey)
    #expect(try fault(Self.proof(header: jwk(["crv": "P-384"]))) == .wrongKey)
    #expect(try fault(Self.proof(header: jwk(["kty": "RSA"]))) == .wrongKey)
    // Not on the curve: x of one key with y of another.
    #expect(
      try fault(Self.proof(header: jwk(["y": Self.other.get().publicKey.jwk()["y"] ?? .null]))) == .wrongKey)
    // The point at infinity, and a short coordinate.
    let zero = JSONValue.string(Base64URL.encode([UInt8](repeating: 0, count: 32)))
    #expect(try fault(Self.proof(header: jwk(["x": zero, "y": zero]))) == .wrongKey)
    #expect(try fault(Self.proof(header: jwk(["x": .string(Base64URL.encode([1]))]))) == .wrongKey)
    for type in [SignatureAlgorithm.ES384, .EdDSA, .RS256] {
      let foreign = try PrivateKey.generate(for: type).publicKey.jwk()
      #expect(try fault(Self.proof(header: ["jwk": .object(foreign)])) == .wrongKey)
    }
  }

  @Test(arguments: ["d", "k", "p", "q", "dp", "dq", "qi", "oth"])
  func `a key with a private member is refused`(_ name: String) throws {
    var jwk = try Self.key.get().publicKey.jwk()
    jwk[name] = "AQ"
    #expect(try fault(Self.proof(header: ["jwk": .object(jwk)])) == .wrongKey)
  }

  @Test func `the signature is that of the key in the header`() throws {
    #expect(try fault(Self.proof(signedBy: Self.other.get())) == .badSignature)
    var changed = try Self.proof()
    changed[changed.count - 2] =
      changed[changed.count - 2] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    #expect(try fault(changed) == .badSignature)
  }

  @Test func `the method is the request's, letter by letter`() throws {
    #expect(try fault(Self.proof(), method: "POST") == .wrongMethod)
    #expect(try fault(Self.proof(["htm": "get"])) == .wrongMethod)
  }

  @Test(arguments: [
    "https://calls.example.com/access?app=shop", "https://calls.example.com/access#x",
    "https://calls.example.com:8443/access",
    "http://calls.example.com/access", "https://other.example.com/access",
    "https://calls.example.com/callbacks",
    "https://calls.example.com/access/", "https://calls.example.com/Access", "https://calls.example.com",
    "https://user@calls.example.com/access", "/access", "calls.example.com/access", "",
  ])
  func `the URL is the request's`(_ url: String) throws {
    #expect(try fault(Self.proof(["htu": .string(url)])) == .wrongURL)
  }

  @Test(arguments: [
    "HTTPS://Calls.Example.com/access", "https://calls.example.com:443/%61ccess",
    "https://calls.example.com:/access",
  ])
  func `equal URLs may be written in another way`(_ url: String) throws {
    #expect(try fault(Self.proof(["htu": .string(url)])) == nil)
  }

  @Test func `a nonce is needed, and has to be this server's`() throws {
    #expect(try fault(Self.proof(without: ["nonce"])) == .noNonce)
    #expect(try fault(Self.proof(["nonce": 1])) == .noNonce)
    let foreign = ProofNonces(keys: [Secret([UInt8](repeating: 8, count: 32))])
    for nonce in [foreign.nonce(now: Self.now), "", "x", "AAAA", Self.nonces.nonce(now: Self.now) + "A"] {
      #expect(try fault(Self.proof(["nonce": .string(nonce)])) == .wrongNonce)
    }
  }

  @Test func `a proof is good a minute before and after its time`() throws {
    #expect(try fault(Self.proof(["iat": Self.seconds(-60)])) == nil)
    #expect(try fault(Self.proof(["iat": Self.seconds(60)])) == nil)
    #expect(try fault(Self.proof(["iat": Self.seconds(-61)])) == .wrongTime)
    #expect(try fault(Self.proof(["iat": Self.seconds(61)])) == .wrongTime)
  }

  @Test func `the first fault counts, and the signature is verified last, if it may be`() throws {
    // Each proof has one fault fewer.
    let wrong: JSONObject = [
      "htm": "PUT", "htu": "https://x.example/", "nonce": "x", "iat": Self.seconds(-999),
    ]
    var asked = 0
    func fault(_ proof: [UInt8]) throws -> ProofFault? {
      try self.fault(proof) {
        asked += 1
        return true
      }
    }
    var left = wrong
    #expect(try fault(Self.proof(wrong, header: ["typ": "x"], signedBy: Self.other.get())) == .wrongType)
    for (name, expected) in [
      ("htm", ProofFault.wrongMethod), ("htu", .wrongURL), ("nonce", .wrongNonce), ("iat", .wrongTime),
    ] {
      #expect(try fault(Self.proof(left, signedBy: Self.other.get())) == expected)
      left[name] = nil
    }
    #expect(asked == 0)
    #expect(try fault(Self.proof(left, signedBy: Self.other.get())) == .badSignature)
    #expect(try fault(Self.proof(left)) == nil)
    #expect(asked == 2)
    let url = try #require(ComparableURL(Self.url))
    let unverified = try DPoPProof(parsing: Self.proof()).verify(
      method: "GET", urls: [url], nonces: Self.nonces, now: Self.now, mayVerify: { false })
    #expect(unverified == nil)
  }

  @Test func `each truncation and each changed octet is refused`() throws {
    let proof = try Self.proof()
    for count in proof.indices { #expect(try fault(Array(proof[..<count])) != nil) }
    for index in proof.indices where index % 7 == 0 {
      var changed = proof
      changed[index] = changed[index] == UInt8(ascii: "Q") ? UInt8(ascii: "R") : UInt8(ascii: "Q")
      #expect(try fault(changed) != nil)
    }
  }

  @Test func `what a client has to do follows from the fault`() {
    let useNonce = ProofFault.allCases.filter { $0.challenge == .useNonce }
    #expect(Set(useNonce) == [.malformed, .noNonce, .wrongNonce])
    #expect(ProofResult.failed(.wrongURL).reason == "wrong_url" && ProofResult.passed.reason == nil)
  }
}

@Suite struct ProofNoncesTests {
  private let nonces = ProofNonces(keys: [Secret([UInt8](repeating: 7, count: 32))])
  private let start = 1_795_000_200.0

  @Test func `a nonce is good for five to ten minutes`() {
    #expect(start.truncatingRemainder(dividingBy: ProofNonces.period) == 0)
    let first = nonces.nonce(now: start)
    let last = nonces.nonce(now: start + 299.9)
    #expect(first == last)
    #expect(nonces.isValid(first, now: start + 599.9))
    #expect(!nonces.isValid(first, now: start + 600))
    // The clock of the instance that made the nonce is ahead.
    #expect(nonces.isValid(first, now: start - 5))
    #expect(!nonces.isValid(first, now: start - 301))
    #expect(nonces.nonce(now: start + 300) != first)
  }

  @Test func `it is base64url, and instances with the same key know it`() throws {
    let nonce = nonces.nonce(now: start)
    #expect(try #require(Base64URL.decode(nonce)).count == 40)
    let twin = ProofNonces(keys: [
      Secret([UInt8](repeating: 9, count: 32)), Secret([UInt8](repeating: 7, count: 32)),
    ])
    #expect(twin.isValid(nonce, now: start))
    #expect(!nonces.isValid(twin.nonce(now: start), now: start))
    let random = try ProofNonces()
    #expect(!random.isValid(nonce, now: start))
    random.use(Secret(nonces.exposedKey()))
    #expect(random.isValid(nonce, now: start))
  }
}

@Suite struct ComparableURLTests {
  @Test(arguments: [
    ("https://h.example", "https://h.example/"), ("http://H.example:80/x", "HTTP://h.example/x"),
    ("https://h.example/%7euser/%c3%a9", "https://h.example/~user/%C3%A9"),
    ("https://[::1]:443/", "https://[::1]/"),
    ("http://[::1]:8080", "http://[::1]:8080/"),
  ])
  func `these are equal`(_ a: String, _ b: String) throws {
    #expect(try #require(ComparableURL(a)) == #require(ComparableURL(b)))
  }

  @Test(arguments: [
    ("https://h.example/", "http://h.example/"), ("https://h.example/a%2Fb", "https://h.example/a/b"),
    ("https://h.example/a", "https://h.example/a/"), ("https://h.example:8443/", "https://h.example/"),
    ("https://h.example/%41", "https://h.example/a"), ("http://h.example:443/", "http://h.example/"),
  ])
  func `these are not`(_ a: String, _ b: String) throws {
    #expect(try #require(ComparableURL(a)) != #require(ComparableURL(b)))
  }

  @Test(arguments: [
    "", "https://", "https:///x", "ftp://h.example/", "https//h.example", "https://u:p@h.example/",
    "https://h.example/?",
    "https://h.example/#", "https://h.example/%", "https://h.example/%4", "https://h.example/%zz",
    "https://h.example/é",
    "https://h.example/ x", "https://h.example:port/", "https://:443/",
  ])
  func `these texts are not URLs of requests`(_ text: String) { #expect(ComparableURL(text) == nil) }
}
