// Tests of which client assertions the emulator accepts.

import JOSE
import JSON
import Platform
import Testing

@testable import Sandbox

@Suite struct AssertionVerifierTests {
  static let now: Int64 = 1_800_000_000

  private func judge(
    _ assertion: String, _ client: TestClient, audience: String = TestClient.tokenURL
  ) -> Result<AssertionVerifier.Verified, AssertionFailure> {
    client.verifier.read(assertion, audience: audience, now: UnixTime(seconds: Self.now)).result
  }

  @Test(arguments: [
    SignatureAlgorithm.ES256, .ES384, .ES512, .PS256, .PS384, .PS512, .RS256,
  ])
  func `an assertion as Talkdesk's samples make it is taken`(algorithm: SignatureAlgorithm) throws {
    let client = try TestClient(algorithm)
    let reading = client.verifier.read(
      try client.assertion(now: Self.now, jwtID: "one"), audience: TestClient.tokenURL,
      now: UnixTime(seconds: Self.now))
    #expect(reading.result == .success(.init(jwtID: "one", expirationTime: Self.now + 300)))
    #expect(reading.keyID == "key-1")
    #expect(reading.jwtID == "one")
  }

  @Test(arguments: ["", "a.b", "a.b.c.d", "!.!.!", "e30.e30.", "..", "eyJhbGciOiJFUzI1NiJ9..AA=="])
  func `what is not a JWT is refused`(text: String) throws {
    let client = try TestClient()
    #expect(throws: AssertionFailure.self) { try judge(text, client).get() }
  }

  @Test(arguments: [
    "http://127.0.0.1:7000/oauth/token/", "http://127.0.0.1:7000", "http://127.0.0.1:7001/oauth/token",
    "HTTP://127.0.0.1:7000/oauth/token", "https://127.0.0.1:7000/oauth/token", "",
  ])
  func `an audience that is nearly the token URL is refused`(audience: String) throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, audience: audience)
    #expect(judge(assertion, client) == .failure(.wrongAudience))
  }

  @Test func `an audience that is a list is refused though the token URL is in it`() throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, claims: ["aud": [.string(TestClient.tokenURL)]])
    #expect(judge(assertion, client) == .failure(.wrongAudience))
  }

  @Test(arguments: [
    ("iss", JSONValue.string("other"), AssertionFailure.wrongIssuer), ("iss", 1, .wrongIssuer),
    ("sub", "other", .wrongSubject), ("sub", .null, .wrongSubject),
    ("jti", "", .unusableJWTID), ("jti", 7, .unusableJWTID),
    ("jti", .string(String(repeating: "x", count: 257)), .unusableJWTID),
    ("iat", "1800000000", .notADate("iat")), ("exp", .null, .notADate("exp")), ("exp", -1, .notADate("exp")),
    ("exp", .number(JSONNumber(.max)), .notADate("exp")), ("nbf", "soon", .notADate("nbf")),
    ("nbf", .number(JSONNumber(now + 11)), .notYetValid),
  ])
  func `a wrong claim is refused`(name: String, value: JSONValue, failure: AssertionFailure) throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, claims: [name: value])
    #expect(judge(assertion, client) == .failure(failure))
  }

  @Test(arguments: ["iss", "sub", "aud", "jti", "iat", "exp"])
  func `a missing claim is refused`(name: String) throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, claims: [name: nil])
    #expect(judge(assertion, client) == .failure(.missing(name)))
  }

  @Test(arguments: [
    (0, 300, AssertionFailure?.none), (0, 301, .livesTooLong), (10, 310, nil), (11, 200, .issuedInFuture),
    (-299, 1, nil), (-300, 0, .expired), (-301, -1, .expired), (5, 5, .expired), (10, 3, .expired),
    (-3600, 1, .livesTooLong),
  ])
  func `the times are judged to the second`(issued: Int64, expires: Int64, failure: AssertionFailure?) throws
  {
    let client = try TestClient()
    let assertion = try client.assertion(
      now: Self.now,
      claims: [
        "iat": .number(JSONNumber(Self.now + issued)), "exp": .number(JSONNumber(Self.now + expires)),
      ])
    switch judge(assertion, client) {
    case .success: #expect(failure == nil)
    case .failure(let found): #expect(failure == found)
    }
  }

  @Test(arguments: [
    (-30, 270, AssertionFailure?.none), (-2, 298, nil), (-1, 299, .issuedInFuture), (0, 300, .issuedInFuture),
    (-300, 0, nil), (-302, -2, .expired),
  ])
  func `a strict clock is two seconds behind and allows no leeway`(
    issued: Int64, expires: Int64, failure: AssertionFailure?
  ) throws {
    let client = try TestClient()
    var verifier = client.verifier
    verifier.isStrict = true
    let assertion = try client.assertion(
      now: Self.now,
      claims: [
        "iat": .number(JSONNumber(Self.now + issued)), "exp": .number(JSONNumber(Self.now + expires)),
      ])
    let reading = verifier.read(assertion, audience: TestClient.tokenURL, now: UnixTime(seconds: Self.now))
    switch reading.result {
    case .success: #expect(failure == nil)
    case .failure(let found): #expect(failure == found)
    }
    let early = try client.assertion(
      now: Self.now - 30, claims: ["nbf": .number(JSONNumber(Self.now - 1))])
    #expect(
      verifier.read(early, audience: TestClient.tokenURL, now: UnixTime(seconds: Self.now)).result
        == .failure(.notYetValid))
  }

  @Test func `another key's signature is refused`() throws {
    let client = try TestClient()
    let other = try TestClient()
    #expect(judge(try other.assertion(now: Self.now), client) == .failure(.badSignature))
  }

  @Test func `changed claims are refused`() throws {
    let client = try TestClient()
    let one = try client.assertion(now: Self.now).split(separator: ".")
    let other = try client.assertion(now: Self.now).split(separator: ".")
    #expect(judge("\(one[0]).\(other[1]).\(one[2])", client) == .failure(.badSignature))
  }

  @Test func `an unknown kid is refused, though the only key would verify`() throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, header: ["kid": "key-2"])
    #expect(judge(assertion, client) == .failure(.unknownKeyID))
  }

  @Test func `a kid that only looks the same is refused`() throws {
    let client = try TestClient()
    // U+212A KELVIN SIGN: canonically equivalent to K, so equal to Swift.
    var kelvin = client
    kelvin.keyID = "\u{212A}ey"
    var plain = client
    plain.keyID = "Key"
    #expect(judge(try kelvin.assertion(now: Self.now), plain) == .failure(.unknownKeyID))
  }

  @Test func `a missing kid is refused`() throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, header: ["kid": nil])
    #expect(judge(assertion, client) == .failure(.missing("kid")))
  }

  @Test(arguments: ["HS256", "ES384", "RS256", "es256", ""])
  func `an alg that is not the key's is refused`(name: String) throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, header: ["alg": .string(name)])
    #expect(judge(assertion, client) == .failure(.wrongAlgorithm))
  }

  @Test(arguments: ["none", "None", "NONE", "nOnE"])
  func `alg none is refused, with and without a signature`(name: String) throws {
    let client = try TestClient()
    let signed = try client.assertion(now: Self.now, header: ["alg": .string(name)])
    let parts = signed.split(separator: ".")
    // Either the JWS reader or the verifier refuses. What matters is that neither accepts.
    #expect(throws: AssertionFailure.self) { try judge(signed, client).get() }
    #expect(throws: AssertionFailure.self) { try judge("\(parts[0]).\(parts[1]).", client).get() }
  }

  @Test func `HS256 with the public key as the secret is refused`() throws {
    let client = try TestClient()
    let parts = try client.assertion(now: Self.now, header: ["alg": "HS256"]).split(separator: ".")
    let code = HMAC.code(
      Array("\(parts[0]).\(parts[1])".utf8), key: Array(client.key.publicKey.pem().utf8), .sha256)
    let forged = "\(parts[0]).\(parts[1]).\(Base64URL.encode(code))"
    #expect(judge(forged, client) == .failure(.wrongAlgorithm))
  }

  @Test func `a critical extension is refused`() throws {
    let client = try TestClient()
    let assertion = try client.assertion(now: Self.now, header: ["crit": ["b64"], "b64": false])
    #expect(judge(assertion, client) == .failure(.malformed))
  }

  @Test func `a type other than JWT is refused and none is fine`() throws {
    let client = try TestClient()
    #expect(
      judge(try client.assertion(now: Self.now, header: ["typ": "at+jwt"]), client) == .failure(.wrongType))
    let untyped = try client.assertion(now: Self.now, header: ["typ": nil])
    #expect(throws: Never.self) { try judge(untyped, client).get() }
  }

  @Test func `claims that are not an object are refused`() throws {
    let client = try TestClient()
    let signed = try client.sign(header: ["alg": "ES256", "kid": "key-1"], payload: Array("[]".utf8))
    #expect(judge(signed, client) == .failure(.claimsNotAnObject))
  }

  @Test func `while a key is rotated both verify`() throws {
    let old = try TestClient()
    var new = try TestClient(.PS256)
    new.keyID = "key-2"
    let verifier = AssertionVerifier(clientID: TestClient.id, keys: [old.registration, new.registration])
    for client in [old, new] {
      let reading = verifier.read(
        try client.assertion(now: Self.now), audience: TestClient.tokenURL, now: UnixTime(seconds: Self.now))
      #expect(throws: Never.self) { try reading.result.get() }
    }
  }
}
