import JSON
import Testing

@testable import JOSE

@Suite struct JWSTests {
  /// RFC 7515 A.3.
  static let example =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
    + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
  static let exampleKey: JSONValue = [
    "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  ]

  @Test func `the ES256 example of RFC 7515 verifies`() throws {
    let token = try JWS.Compact(parsing: Array(Self.example.utf8))
    let key = try PublicKey(jwk: Self.exampleKey)
    #expect(token.verify(with: key, algorithm: .ES256))
    #expect(!token.verify(with: key, algorithm: .ES384))
    #expect(try JSONValue(parsing: token.payload)["iss"] == "joe")
  }

  @Test func `a signed token is read back`() throws {
    let key = try PrivateKey.generate(for: .ES256)
    let signer = try Signer(key: key, algorithm: .ES256)
    let text = try JWS.sign(header: ["kid": "k1", "typ": "JWT"], payload: Array("{}".utf8), with: signer)
    let token = try JWS.Compact(parsing: Array(text.utf8))
    #expect(token.header == ["alg": "ES256", "kid": "k1", "typ": "JWT"])
    #expect(token.keyID == "k1")
    #expect(token.payload == Array("{}".utf8))
    #expect(token.verify(with: key.publicKey, algorithm: .ES256))
  }
}
