// Tests of which App Check tokens are valid, and of the fault reported for each other one.

import JOSE
import JSON
import TestSupport
import Testing

@testable import Trust

@Suite struct AppCheckTokenTests {
  private static let now = 1_795_000_000.0
  private static let project = AppCheckProject(number: "123456789012", id: "shop-prod")
  private static let app = "1:123456789012:ios:0123456789abcdef"
  // A key of 2048 bits takes a while to make: one serves all tests.
  private static let key = Result { try PrivateKey.generate(for: .RS256) }
  private static let other = Result { try PrivateKey.generate(for: .RS256) }

  private static func seconds(_ offset: Int64) -> JSONValue { .number(JSONNumber(Int64(now) + offset)) }

  private static let claims: JSONObject = [
    "iss": "https://firebaseappcheck.googleapis.com/123456789012",
    "aud": ["projects/123456789012", "projects/shop-prod"], "sub": .string(app),
    "iat": seconds(-10), "exp": seconds(3600),
  ]

  private static func token(
    header: JSONObject = ["alg": "RS256", "kid": "k1", "typ": "JWT"], _ changes: JSONObject = [:],
    without names: Set<String> = [], key: PrivateKey? = nil, algorithm: SignatureAlgorithm = .RS256
  ) throws -> [UInt8] {
    var claims = claims
    for (name, value) in changes.members { claims[name] = value }
    for name in names { claims[name] = nil }
    let signer = try Signer(key: key ?? Self.key.get(), algorithm: algorithm)
    return Array(try JWS.sign(header: header, payload: claims.serialized(), with: signer).utf8)
  }

  /// The key set that Google publishes, with one key.
  private static func jwk(algorithm: String? = "RS256") throws -> JWK {
    var value = try key.get().publicKey.jwk()
    value["kid"] = "k1"
    value["use"] = "sig"
    if let algorithm { value["alg"] = .string(algorithm) }
    return try JWK(.object(value))
  }

  private func fault(_ token: [UInt8], now: Double = now, key: JWK? = nil) throws -> AttestationFault? {
    let key = try key ?? Self.jwk()
    do throws(AttestationFault) {
      _ = try AppCheckToken(parsing: token).verify(with: [key], of: Self.project, now: now)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a token of the project names its app`() throws {
    let parsed = try AppCheckToken(parsing: Self.token())
    #expect(parsed.keyID == "k1")
    let claims = try parsed.verify(with: [Self.jwk()], of: Self.project, now: Self.now)
    #expect(claims.appID == Self.app)
    #expect(claims.expirationTime == Self.now + 3600)
  }

  @Test func `one name of the project is enough, by number or by id`() throws {
    #expect(try fault(Self.token(["aud": ["projects/123456789012", "x"]])) == nil)
    #expect(try fault(Self.token(["aud": ["projects/shop-prod"]])) == nil)
  }

  @Test(
    arguments: [
      ("another project", "iss", "https://firebaseappcheck.googleapis.com/123456789013", .wrongIssuer),
      ("a longer issuer", "iss", "https://firebaseappcheck.googleapis.com/1234567890123", .wrongIssuer),
      ("the prefix of the issuer", "iss", "https://firebaseappcheck.googleapis.com/", .wrongIssuer),
      (
        "the issuer of the emulator's host", "iss", "http://firebaseappcheck.googleapis.com/123456789012",
        .wrongIssuer
      ),
      ("an issuer of another type", "iss", 1, .malformed),
      ("another audience", "aud", ["projects/other"], .wrongAudience),
      ("an empty audience", "aud", [], .wrongAudience),
      ("an audience that is no list", "aud", "projects/shop-prod", .wrongAudience),
      ("an audience with a number in it", "aud", ["projects/shop-prod", 1], .malformed),
      ("the audience without its prefix", "aud", ["shop-prod"], .wrongAudience),
      ("a subject of another type", "sub", ["x"], .malformed),
      ("an empty subject", "sub", "", .malformed),
      ("an end in the past", "exp", seconds(-1), .expired),
      ("an end right now", "exp", seconds(0), .expired),
      ("an end in words", "exp", "tomorrow", .malformed),
      ("a beginning that Google's clock can be ahead", "iat", seconds(60), nil),
      ("a beginning in the future", "iat", seconds(61), .wrongTime),
      ("a nbf in the future", "nbf", seconds(61), .wrongTime),
      ("a nbf in the past", "nbf", seconds(-10), nil),
      ("the longest life", "exp", seconds(-10 + 7 * 86_400), nil),
      ("a longer life", "exp", seconds(-10 + 7 * 86_400 + 1), .wrongTime),
      ("another claim", "nonce", "x", nil),
    ] as [(String, String, JSONValue, AttestationFault?)])
  func `a claim`(_ name: String, claim: String, value: JSONValue, expected: AttestationFault?) throws {
    #expect(try fault(Self.token([claim: value])) == expected, "\(name)")
  }

  @Test(arguments: [
    ("iss", AttestationFault.wrongIssuer), ("aud", .wrongAudience), ("sub", .malformed),
    ("exp", .malformed), ("iat", .malformed),
  ])
  func `a claim that is missing`(_ name: String, expected: AttestationFault) throws {
    #expect(try fault(Self.token(without: [name])) == expected)
  }

  @Test func `the header names RS256, JWT and a key`() throws {
    func header(_ header: JSONObject, _ algorithm: SignatureAlgorithm = .RS256) throws -> AttestationFault? {
      try fault(Self.token(header: header, algorithm: algorithm))
    }
    #expect(try header(["alg": "RS256", "typ": "JWT"]) == .unknownKey)
    #expect(try header(["alg": "RS256", "kid": "k1"]) == .malformed)
    #expect(try header(["alg": "RS256", "kid": "k1", "typ": "at+jwt"]) == .malformed)
    #expect(try header(["alg": "RS256", "kid": "k1", "typ": "JWT", "crit": ["x"]]) == .malformed)
    #expect(try header(["alg": "RS512", "kid": "k1", "typ": "JWT"], .RS512) == .wrongAlgorithm)
    #expect(try header(["alg": "PS256", "kid": "k1", "typ": "JWT"], .PS256) == .wrongAlgorithm)
  }

  @Test func `neither none nor the public key as a shared secret is an algorithm`() throws {
    let payload = Base64URL.encode(Self.claims.serialized())
    let none = Base64URL.encode(Array(#"{"alg":"none","kid":"k1","typ":"JWT"}"#.utf8))
    #expect(try fault(Array("\(none).\(payload).".utf8)) == .wrongAlgorithm)
    var secret = Array(try Self.key.get().publicKey.pem().utf8)
    let hmac = try SymmetricKey(Secret(wiping: &secret), algorithm: .HS256)
    let token = JWS.sign(
      header: ["alg": "HS256", "kid": "k1", "typ": "JWT"], payload: Self.claims.serialized(), with: hmac)
    #expect(try fault(Array(token.utf8)) == .wrongAlgorithm)
  }

  @Test func `another key, changed content and a changed signature are one fault`() throws {
    #expect(try fault(Self.token(key: Self.other.get())) == .badSignature)
    let parts = String(decoding: try Self.token(), as: UTF8.self).split(separator: ".")
    var changed = Self.claims
    changed["sub"] = "1:123456789012:ios:ffffffffffffffff"
    let payload = Base64URL.encode(changed.serialized())
    #expect(try fault(Array("\(parts[0]).\(payload).\(parts[2])".utf8)) == .badSignature)
    #expect(try fault(Array("\(parts[0]).\(parts[1]).AAAA".utf8)) == .badSignature)
    #expect(try fault(Array("\(parts[0]).\(parts[1]).".utf8)) == .badSignature)
  }

  @Test func `a key that is published for another algorithm verifies nothing`() throws {
    #expect(try fault(Self.token(), key: Self.jwk(algorithm: "PS256")) == .badSignature)
    #expect(try fault(Self.token(), key: Self.jwk(algorithm: nil)) == nil)
  }

  @Test func `a token has at most 4096 bytes`() throws {
    let start = (AppCheckToken.maximumBytes - (try Self.token().count)) * 3 / 4 - 32
    var counts: Set<Int> = []
    for length in start...(start + 40) {
      let token = try Self.token(["x": .string(String(repeating: "x", count: length))])
      counts.insert(token.count)
      #expect(try fault(token) == (token.count <= AppCheckToken.maximumBytes ? nil : .malformed))
    }
    #expect(counts.contains { AppCheckToken.maximumBytes - 3...AppCheckToken.maximumBytes ~= $0 })
    #expect(counts.contains { $0 > AppCheckToken.maximumBytes })
  }

  @Test func `a token that is cut anywhere is refused`() throws {
    let token = try Self.token()
    for count in stride(from: 0, to: token.count, by: spacing(9)) + [token.count - 1] {
      #expect(try fault(Array(token.prefix(count))) != nil)
    }
  }
}
