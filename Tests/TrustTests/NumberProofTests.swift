// Tests of which number proofs are valid, and of the fault reported for each other one.

import JOSE
import JSON
import Testing

@testable import Trust

@Suite struct NumberProofTests {
  private static let now = 1_795_000_000.0
  private static let project = AppCheckProject(number: "123456789012", id: "shop-prod")
  private static let base = "https://fpnv.googleapis.com/projects/"
  private static let number = "+14155550123"
  private static let key = Result { try PrivateKey.generate(for: .ES256) }
  private static let other = Result { try PrivateKey.generate(for: .ES256) }

  private static func seconds(_ offset: Int64) -> JSONValue { .number(JSONNumber(Int64(now) + offset)) }

  private static func proof(
    header: JSONObject = ["alg": "ES256", "kid": "k1", "typ": "JWT"], _ changes: JSONObject = [:],
    without name: String? = nil, key: PrivateKey? = nil
  ) throws -> [UInt8] {
    var claims: JSONObject = [
      "iss": .string(base + "123456789012"),
      "aud": [.string(base + "123456789012"), .string(base + "shop-prod")],
      "sub": .string(number), "iat": seconds(-10), "exp": seconds(3600),
    ]
    for (name, value) in changes.members { claims[name] = value }
    if let name { claims[name] = nil }
    let signer = try Signer(key: key ?? Self.key.get(), algorithm: .ES256)
    return Array(try JWS.sign(header: header, payload: claims.serialized(), with: signer).utf8)
  }

  private func fault(_ proof: [UInt8]) throws -> NumberProofFault? {
    var value = try Self.key.get().publicKey.jwk()
    value["kid"] = "k1"
    let key = try JWK(.object(value))
    do throws(NumberProofFault) {
      _ = try NumberProof(parsing: proof).verify(
        with: [key], of: Self.project, number: Self.number, now: Self.now)
      return nil
    } catch {
      return error
    }
  }

  @Test func `each of four names of the project is an audience, alone or in a list`() throws {
    for name in [Self.base + "123456789012", Self.base + "shop-prod", "123456789012", "shop-prod"] {
      #expect(try fault(Self.proof(["aud": .string(name)])) == nil)
      #expect(try fault(Self.proof(["aud": ["x", .string(name)]])) == nil)
    }
  }

  @Test(
    arguments: [
      ("another project", "iss", "https://fpnv.googleapis.com/projects/1", .wrongIssuer),
      ("the project's id", "iss", "https://fpnv.googleapis.com/projects/shop-prod", .wrongIssuer),
      ("App Check", "iss", "https://firebaseappcheck.googleapis.com/123456789012", .wrongIssuer),
      ("another audience", "aud", ["https://fpnv.googleapis.com/projects/other"], .wrongAudience),
      ("App Check's audience", "aud", ["projects/shop-prod"], .wrongAudience),
      ("another number", "sub", "+14155550124", .wrongNumber),
      ("blanks in the number", "sub", "+1 4155550123", .wrongNumber),
      ("a number of another type", "sub", 14_155_550_123, .wrongNumber),
      ("an end right now", "exp", seconds(0), .expired),
      ("the longest life", "exp", seconds(-10 + 86_400), nil),
      ("a longer life", "exp", seconds(-10 + 86_401), .wrongTime),
      ("a clock that is ahead", "iat", seconds(60), nil), ("the future", "iat", seconds(61), .wrongTime),
      ("nbf in the future", "nbf", seconds(61), .wrongTime), ("another claim", "nonce", "x", nil),
    ] as [(String, String, JSONValue, NumberProofFault?)])
  func `a claim`(_ name: String, claim: String, value: JSONValue, expected: NumberProofFault?) throws {
    #expect(try fault(Self.proof([claim: value])) == expected, "\(name)")
  }

  @Test(arguments: [
    ("iss", NumberProofFault.wrongIssuer), ("aud", .wrongAudience), ("sub", .wrongNumber),
    ("exp", .malformed),
    ("iat", .malformed),
  ])
  func `a claim that is missing`(_ name: String, expected: NumberProofFault) throws {
    #expect(try fault(Self.proof(without: name)) == expected)
  }

  @Test func `the header names ES256, JWT and a key`() throws {
    #expect(try fault(Self.proof(header: ["alg": "ES256", "typ": "JWT"])) == .unknownKey)
    #expect(try fault(Self.proof(header: ["alg": "ES256", "kid": "k1"])) == .malformed)
    #expect(try fault(Self.proof(header: ["alg": "ES256", "kid": "k1", "typ": "at+jwt"])) == .malformed)
    let parts = try Self.proof().split(separator: UInt8(ascii: "."))
    for header in [#"{"alg":"RS256","kid":"k1","typ":"JWT"}"#, #"{"alg":"none","kid":"k1","typ":"JWT"}"#] {
      let changed = Array(Base64URL.encode(Array(header.utf8)).utf8) + [0x2E] + parts[1] + [0x2E] + parts[2]
      #expect(try fault(changed) == .wrongAlgorithm)
    }
    #expect(try fault(Self.proof(key: Self.other.get())) == .badSignature)
  }

  @Test func `another signature of the same content is the same proof`() throws {
    let claims: JSONObject = ["nonce": "x"]
    let (one, two) = (try Self.proof(claims), try Self.proof(claims))
    #expect(one != two)
    #expect(try NumberProof(parsing: one).id == NumberProof(parsing: two).id)
    #expect(try NumberProof(parsing: one).id != NumberProof(parsing: Self.proof()).id)
  }

  @Test func `a proof of 4,097 octets is not read`() throws {
    let proof = try Self.proof()
    #expect(throws: NumberProofFault.malformed) {
      try NumberProof(parsing: proof + [UInt8](repeating: 0x41, count: 4097 - proof.count))
    }
  }
}
