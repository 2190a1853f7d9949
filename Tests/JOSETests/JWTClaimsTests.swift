// Tests of how the claims of a token are read and checked.

import JSON
import TestSupport
import Testing

@testable import JOSE

@Suite struct JWTClaimsTests {
  static let now = 1_800_000_000.0

  private func verdict(_ claims: JSONObject, _ expected: JWTExpectations = JWTExpectations()) -> JWTError? {
    do {
      try JWTClaims(payload: claims.serialized()).validate(expected, now: Self.now)
      return nil
    } catch {
      return error
    }
  }

  @Test func `claims are read`() throws {
    let payload =
      #"{"iss":"i","sub":"s","aud":["a","b"],"exp":1.5e9,"nbf":1.25,"iat":0,"jti":"j","tier":"gold"}"#
    let claims = try JWTClaims(payload: Array(payload.utf8))
    #expect(claims.issuer == "i")
    #expect(claims.subject == "s")
    #expect(claims.audience == ["a", "b"])
    #expect(claims.expirationTime == 1_500_000_000)
    #expect(claims.notBefore == 1.25)
    #expect(claims.issuedAt == 0)
    #expect(claims.jwtID == "j")
    #expect(claims["tier"] == "gold")
    #expect(try JWTClaims(payload: Array(#"{"aud":"a"}"#.utf8)).audience == ["a"])
    #expect(try JWTClaims(payload: Array("{}".utf8)).audience == nil)
  }

  @Test(arguments: [
    (#"{"iss":1}"#, "iss"), (#"{"jti":[]}"#, "jti"),
    (#"{"exp":"1800000000"}"#, "exp"),
    (#"{"nbf":true}"#, "nbf"),
    (#"{"iat":null}"#, "iat"), (#"{"aud":1}"#, "aud"), (#"{"aud":["a",1]}"#, "aud"), (#"{"aud":{}}"#, "aud"),
  ])
  func `a registered claim of the wrong type is an error`(payload: String, claim: String) {
    #expect(throws: JWTError.malformed(claim: claim)) { try JWTClaims(payload: Array(payload.utf8)) }
  }

  @Test(arguments: ["1", "null", "[]"]) func `a sub that is not text is not a subject`(value: String) throws {
    #expect(try JWTClaims(payload: Array("{\"sub\":\(value)}".utf8)).subject == nil)
  }

  @Test(arguments: ["-1", "253402300800", "1e300", "1e999"])
  func `a time before 1970 or after the year 9999 is out of range`(time: String) {
    for claim in ["exp", "nbf", "iat"] {
      #expect(throws: JWTError.outOfRange(claim: claim)) {
        try JWTClaims(payload: Array("{\"\(claim)\":\(time)}".utf8))
      }
    }
  }

  @Test func `claims that are not an object are an error`() {
    #expect(throws: JWTError.notObject) { try JWTClaims(payload: Array("[]".utf8)) }
    #expect(throws: JWTError.self) { try JWTClaims(payload: Array(#"{"exp":1,"exp":2}"#.utf8)) }
    #expect(throws: JWTError.self) { try JWTClaims(payload: []) }
  }

  @Test(
    arguments: [
      (1_800_000_001, nil), (1_800_000_000, nil), (1_799_999_971, nil), (1_799_999_970, .expired),
      (1, .expired),
    ] as [(Int64, JWTError?)])
  func `a token is refused on its expiration time and after, leeway aside`(time: Int64, expected: JWTError?) {
    #expect(verdict(["exp": .number(JSONNumber(time))]) == expected)
  }

  @Test func `without leeway the very second counts`() {
    let strict = JWTExpectations(leeway: 0)
    #expect(verdict(["exp": 1_800_000_000], strict) == .expired)
    #expect(verdict(["exp": 1_800_000_001], strict) == nil)
    #expect(verdict(["exp": 1_900_000_000, "nbf": 1_800_000_000], strict) == nil)
    #expect(verdict(["exp": 1_900_000_000, "nbf": 1_800_000_001], strict) == .notYetValid)
    #expect(verdict(["exp": 1_900_000_000, "iat": 1_800_000_001], strict) == .issuedInFuture)
  }

  @Test func `times ahead are allowed by the leeway and no more`() {
    #expect(verdict(["exp": 1_900_000_000, "nbf": 1_800_000_030]) == nil)
    #expect(verdict(["exp": 1_900_000_000, "nbf": 1_800_000_031]) == .notYetValid)
    #expect(verdict(["exp": 1_900_000_000, "iat": 1_800_000_030]) == nil)
    #expect(verdict(["exp": 1_900_000_000, "iat": 1_800_000_031]) == .issuedInFuture)
  }

  @Test func `a lifetime can be bounded`() {
    let bounded = JWTExpectations(leeway: 0, maximumLifetime: 300)
    #expect(verdict(["exp": 1_800_000_300], bounded) == nil)
    #expect(verdict(["exp": 1_800_000_301], bounded) == .livesTooLong)
  }

  @Test func `exp is demanded unless said otherwise`() {
    #expect(verdict([:]) == .missing(claim: "exp"))
    #expect(verdict([:], JWTExpectations(requiresExpirationTime: false)) == nil)
  }

  @Test func `issuer and audience are compared byte for byte`() {
    let expected = JWTExpectations(issuer: "https://a", audience: "me")
    #expect(verdict(["exp": 1_900_000_000, "iss": "https://a", "aud": "me"], expected) == nil)
    #expect(verdict(["exp": 1_900_000_000, "iss": "https://a", "aud": ["you", "me"]], expected) == nil)
    #expect(verdict(["exp": 1_900_000_000, "aud": "me"], expected) == .missing(claim: "iss"))
    #expect(verdict(["exp": 1_900_000_000, "iss": "https://a"], expected) == .missing(claim: "aud"))
    #expect(verdict(["exp": 1_900_000_000, "iss": "https://a/", "aud": "me"], expected) == .wrongIssuer)
    #expect(verdict(["exp": 1_900_000_000, "iss": "https://a", "aud": "Me"], expected) == .wrongAudience)
    #expect(verdict(["exp": 1_900_000_000, "iss": "https://a", "aud": []], expected) == .wrongAudience)
    let accented = JWTExpectations(issuer: "\u{E9}")
    #expect(verdict(["exp": 1_900_000_000, "iss": "e\u{301}"], accented) == .wrongIssuer)
  }

  @Test(
    arguments: [
      (nil, true), ("JWT", true), ("jwt", true), ("application/jwt", true), ("at+JWT", true),
      ("logout+jwt", false),
      ("secevent+jwt", false), ("", false), (1, false),
    ] as [(JSONValue?, Bool)])
  func `the type in the header is checked`(type: JSONValue?, accepted: Bool) throws {
    var header: JSONObject = [:]
    header["typ"] = type
    let payload = Array(#"{"exp":1900000000,"sub":"ann"}"#.utf8)
    let key = try SymmetricKey(Secret([UInt8](repeating: 7, count: 32)), algorithm: .HS256)
    let token = try JWS.Compact(parsing: Array(JWS.sign(header: header, payload: payload, with: key).utf8))
    let claims = try JWTClaims(payload: token.payload)
    if accepted {
      try token.validate(claims, JWTExpectations(), now: Self.now)
    } else {
      #expect(throws: JWTError.wrongType) { try token.validate(claims, JWTExpectations(), now: Self.now) }
    }
  }
}

@Suite struct StrangeNumberTests {
  @Test func `every number in a claim is read or refused, at every lifetime that is allowed`() throws {
    let payload =
      #"{"iss":"i","sub":"s","aud":["a"],"exp":1900000000,"nbf":1,"iat":1,"jti":"j","tier":{"n":[1]}}"#
    var (read, refused) = (0, 0)
    for content in try StrangeNumbers.documents(like: payload) {
      for lifetime in [nil, 0, 3600, Int.max] {
        do {
          try JWTClaims(payload: Array(content.utf8)).validate(
            JWTExpectations(maximumLifetime: lifetime), now: JWTClaimsTests.now)
          read += 1
        } catch {
          refused += 1
        }
      }
    }
    #expect(read > 0 && refused > 0)
  }
}
