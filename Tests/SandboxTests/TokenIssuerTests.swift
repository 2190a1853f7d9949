// Tests of the access tokens that the emulator issues and accepts.

import JOSE
import JSON
import Testing

@testable import Sandbox

@Suite struct TokenIssuerTests {
  static let now: Int64 = 1_800_000_000
  static let base = "http://127.0.0.1:7000"

  private func issue(_ issuer: EmulatedTokenIssuer, lifetime: Int64 = 600, now: Int64 = now) throws -> String
  {
    try issuer.issue(
      issuer: Self.base, audience: Self.base, clientID: TestClient.id, scopes: ["callback:write", "b"],
      lifetime: lifetime, now: now)
  }

  @Test func `a token carries the claims Talkdesk's carry`() throws {
    let issuer = try EmulatedTokenIssuer()
    let token = try JWS.Compact(parsing: Array(try issue(issuer).utf8))
    #expect(token.header == ["alg": "ES256", "kid": .string(issuer.keyID), "typ": "JWT"])
    let claims = try #require(JSONValue(parsing: token.payload).object)
    #expect(claims.members.map(\.name) == ["iss", "aud", "exp", "nbf", "iat", "jti", "cid", "gty", "scp"])
    #expect(claims["iss"] == .string(Self.base))
    #expect(claims["aud"] == .string(Self.base))
    #expect(claims["exp"] == .number(JSONNumber(Self.now + 600)))
    #expect(claims["nbf"] == .number(JSONNumber(Self.now)))
    #expect(claims["iat"] == .number(JSONNumber(Self.now)))
    #expect(claims["cid"] == .string(TestClient.id))
    #expect(claims["gty"] == "client_credentials")
    #expect(claims["scp"] == ["callback:write", "b"])
    let jwtID = try #require(claims["jti"]?.string)
    #expect(jwtID.utf8.count == 32)
    #expect(jwtID.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) })
  }

  @Test func `no two tokens are the same`() throws {
    let issuer = try EmulatedTokenIssuer()
    #expect(try issue(issuer) != issue(issuer))
  }

  @Test func `a token verifies with the published key`() throws {
    let issuer = try EmulatedTokenIssuer()
    let token = try JWS.Compact(parsing: Array(try issue(issuer).utf8))
    let keys = try #require(JSONValue(parsing: issuer.certificates)["keys"]?.array)
    #expect(keys.count == 1)
    #expect(keys[0]["kid"] == token.header["kid"])
    #expect(keys[0]["alg"] == "ES256")
    #expect(keys[0]["use"] == "sig")
    #expect(keys[0]["d"] == nil)
    #expect(token.verify(with: try PublicKey(jwk: keys[0]), algorithm: .ES256))
  }

  @Test func `a token is taken from its first second to the one before its end`() throws {
    let issuer = try EmulatedTokenIssuer()
    let token = try issue(issuer)
    let scopes = EmulatedTokenIssuer.Reading(scopes: ["callback:write", "b"])
    #expect(issuer.read(token, audience: Self.base, now: Self.now - 1) == .failure(.notYetValid))
    #expect(issuer.read(token, audience: Self.base, now: Self.now) == .success(scopes))
    #expect(issuer.read(token, audience: Self.base, now: Self.now + 599) == .success(scopes))
    #expect(issuer.read(token, audience: Self.base, now: Self.now + 600) == .failure(.expired))
  }

  @Test func `a token without a life has expired`() throws {
    let issuer = try EmulatedTokenIssuer()
    for lifetime: Int64 in [0, -5] {
      let token = try issue(issuer, lifetime: lifetime)
      #expect(issuer.read(token, audience: Self.base, now: Self.now) == .failure(.expired))
    }
  }

  @Test func `another emulator's token is refused`() throws {
    let token = try issue(EmulatedTokenIssuer())
    #expect(
      try EmulatedTokenIssuer().read(token, audience: Self.base, now: Self.now) == .failure(.notIssuedHere))
  }

  @Test func `a changed token is refused`() throws {
    let issuer = try EmulatedTokenIssuer()
    let one = try issue(issuer).split(separator: ".")
    let other = try issue(issuer).split(separator: ".")
    let mixed = "\(one[0]).\(other[1]).\(one[2])"
    #expect(issuer.read(mixed, audience: Self.base, now: Self.now) == .failure(.notIssuedHere))
  }

  @Test func `a token for another address is refused`() throws {
    let issuer = try EmulatedTokenIssuer()
    let read = issuer.read(try issue(issuer), audience: "http://127.0.0.1:7001", now: Self.now)
    #expect(read == .failure(.wrongAudience))
  }

  @Test(arguments: ["", "token", "a.b.c"])
  func `what is not a JWT is malformed`(text: String) throws {
    #expect(try EmulatedTokenIssuer().read(text, audience: Self.base, now: Self.now) == .failure(.malformed))
  }
}
