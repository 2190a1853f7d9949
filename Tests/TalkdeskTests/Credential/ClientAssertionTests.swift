// Tests of the signed JWT that authenticates the client to Talkdesk ID.

import JOSE
import JSON
import Platform
import Talkdesk
import TestSupport
import Testing
import Tokens

@Suite struct ClientAssertionTests {
  private static let audience = "https://acme.talkdeskid.com/oauth/token"

  private func assertion(
    _ algorithm: SignatureAlgorithm, lifetime: Int64 = ClientAssertion.maximumLifetime
  ) throws -> (JWS.Compact, PublicKey) {
    let key = try PrivateKey.one(for: algorithm)
    let text = try ClientAssertion.make(
      clientID: "client-1", keyID: "kid-1", signer: Signer(key: key, algorithm: algorithm),
      audience: Self.audience, now: UnixTime(seconds: 1_800_000_000, nanoseconds: 999_999_999),
      lifetime: lifetime)
    return (try JWS.Compact(parsing: Array(text.utf8)), key.publicKey)
  }

  @Test(arguments: SignatureAlgorithm.allCases)
  func `an assertion verifies with the client's key and no other`(algorithm: SignatureAlgorithm) throws {
    let (jws, key) = try assertion(algorithm)
    #expect(jws.verify(with: key, algorithm: algorithm))
    #expect(try !jws.verify(with: PrivateKey.another(for: algorithm).publicKey, algorithm: algorithm))
  }

  @Test func `its header names algorithm and key, and nothing more`() throws {
    let (jws, _) = try assertion(.PS256)
    #expect(jws.header == ["alg": "PS256", "kid": "kid-1", "typ": "JWT"])
  }

  @Test func `its claims are Talkdesk's six`() throws {
    let (jws, _) = try assertion(.ES256)
    let claims = try #require(JSONValue(parsing: jws.payload).object)
    #expect(claims.members.map(\.name).sorted() == ["aud", "exp", "iat", "iss", "jti", "sub"])
    #expect(claims["iss"]?.string == "client-1")
    #expect(claims["sub"]?.string == "client-1")
    #expect(claims["aud"]?.string == Self.audience)
    // Talkdesk's clock may be behind this one.
    #expect(claims["iat"]?.int == 1_799_999_970)
    #expect(claims["exp"]?.int == 1_800_000_270)
  }

  @Test func `it may live for less than 300 s`() throws {
    let (jws, _) = try assertion(.ES256, lifetime: 60)
    #expect(try JSONValue(parsing: jws.payload)["exp"]?.int == 1_800_000_030)
  }

  @Test func `its id is a random UUID`() throws {
    let id = ClientAssertion.freshID()
    #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
  }

  @Test func `ten thousand ids are ten thousand ids`() {
    #expect(Set((0..<10_000).map { _ in ClientAssertion.freshID() }).count == 10_000)
  }

  @Test func `two assertions differ in their id`() throws {
    let ids = try (0..<2).map { _ in try JSONValue(parsing: assertion(.ES256).0.payload)["jti"]?.string }
    #expect(ids[0] != nil && ids[0] != ids[1])
  }
}
