// Tests of how signed tokens are made, read and verified.

import JSON
import Testing

@testable import JOSE

private func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

@Suite struct JWSTests {
  /// RFC 7515 A.3.
  static let example = [
    "eyJhbGciOiJFUzI1NiJ9",
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
  ].joined(separator: ".")
  static let exampleKey: JSONValue = [
    "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  ]
  /// RFC 7515 A.1.
  static let macExample = [
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
    "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  ].joined(separator: ".")
  static let macKey = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"

  private func failure(_ token: String) -> JWSError? {
    do {
      _ = try JWS.Compact(parsing: Array(token.utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test func `the ES256 example of RFC 7515 verifies`() throws {
    let token = try JWS.Compact(parsing: Array(Self.example.utf8))
    let key = try PublicKey(jwk: Self.exampleKey)
    #expect(token.verify(with: key, algorithm: .ES256))
    #expect(!token.verify(with: key, algorithm: .ES384))
    #expect(token.keyID == nil)
    #expect(try JSONValue(parsing: token.payload)["iss"] == "joe")
  }

  @Test func `the HS256 example of RFC 7515 verifies with its secret and algorithm only`() throws {
    let token = try JWS.Compact(parsing: Array(Self.macExample.utf8))
    let secret = Secret(try #require(Base64URL.decode(Self.macKey)))
    #expect(token.verify(with: try SymmetricKey(secret, algorithm: .HS256)))
    #expect(!token.verify(with: try SymmetricKey(secret, algorithm: .HS384)))
    #expect(!token.verify(with: try SymmetricKey(Secret(secret.exposedBytes() + [0]), algorithm: .HS256)))
    #expect(!token.verify(with: try PublicKey(jwk: Self.exampleKey), algorithm: .ES256))
  }

  @Test func `a signed token is read back`() throws {
    let key = try PrivateKey(KeyFixtures.p256PKCS8)
    let signer = try Signer(key: key, algorithm: .ES256)
    let text = try JWS.sign(header: ["kid": "k1", "typ": "JWT"], payload: Array("{}".utf8), with: signer)
    let token = try JWS.Compact(parsing: Array(text.utf8))
    #expect(token.header == ["alg": "ES256", "kid": "k1", "typ": "JWT"])
    #expect(token.header.members.map(\.name) == ["alg", "kid", "typ"])
    #expect(token.keyID == "k1")
    #expect(token.payload == Array("{}".utf8))
    #expect(token.verify(with: key.publicKey, algorithm: .ES256))
  }

  @Test func `every changed character of a token makes it invalid`() throws {
    let key = try PublicKey(jwk: Self.exampleKey)
    let original = Array(Self.example.utf8)
    for index in original.indices {
      for change in [UInt8(ascii: "A"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "="), 0x00, 0xC3]
      where original[index] != change {
        var bytes = original
        bytes[index] = change
        let accepted: Bool
        do {
          accepted = try JWS.Compact(parsing: bytes).verify(with: key, algorithm: .ES256)
        } catch {
          accepted = false
        }
        #expect(!accepted, "byte \(index)")
      }
    }
  }

  static let malformed: [(String, JWSError)] = [
    ("", .notThreeParts), ("a.b", .notThreeParts), ("a.b.c.d", .notThreeParts),
    ("a.b.c.d.e", .notThreeParts), ("...", .notThreeParts),
    ("e30=.e30.AA", .notBase64URL), ("e30.e30=.AA", .notBase64URL), ("e30.e30.AA==", .notBase64URL),
    (" e30.e30.AA", .notBase64URL), ("e30.e30.AA\n", .notBase64URL), ("e30.e30.AB", .notBase64URL),
    ("e31.e30.AA", .notBase64URL),
    ("..", .invalidHeader(.notJSON(JSONErrorFixtures.empty))), ("W10.e30.AA", .invalidHeader(.notObject)),
    ("e30.e30.AA", .invalidHeader(.noAlgorithm)),
  ]

  @Test(arguments: malformed)
  func `a token that is not strictly compact is refused`(token: String, error: JWSError) {
    #expect(failure(token) == error)
  }

  static let headers: [(String, JWSError)] = [
    (#"{"alg":1}"#, .invalidHeader(.noAlgorithm)), (#"{"alg":null}"#, .invalidHeader(.noAlgorithm)),
    (#"{"alg":"none"}"#, .unsecured), (#"{"alg":"nOnE"}"#, .unsecured),
    (#"{"alg":"ES256","crit":["exp"],"exp":1}"#, .criticalExtension),
    (#"{"alg":"ES256","crit":[]}"#, .criticalExtension),
    (#"{"alg":"ES256","crit":null}"#, .criticalExtension),
    (#"{"alg":"ES256","b64":false}"#, .criticalExtension),
    (#"{"alg":"ES256","b64":"true"}"#, .criticalExtension),
    (#"{"alg":"ES256","kid":7}"#, .invalidHeader(.keyIDNotString)),
  ]

  @Test(arguments: headers) func `a header that must not be is refused`(header: String, error: JWSError) {
    #expect(failure(encoded(header) + ".e30.AA") == error)
  }

  @Test func `a header with a name twice is refused`() {
    guard
      case .invalidHeader(.notJSON(let error)) = failure(
        encoded(#"{"alg":"ES256","\u0061lg":"none"}"#) + ".e30.AA")
    else {
      Issue.record("accepted or misjudged")
      return
    }
    #expect(error.reason == .duplicateName)
  }

  @Test func `a token of 8192 bytes is read and one byte more is not`() {
    let start = encoded(#"{"alg":"ES256"}"#) + "."
    let filler = String(repeating: "A", count: JWS.maximumBytes - start.utf8.count - 1)
    let longest = (filler.utf8.count % 4 == 1 ? String(filler.dropLast()) : filler)
    let rest = JWS.maximumBytes - start.utf8.count - longest.utf8.count - 1
    let token = start + longest + "." + String(repeating: "A", count: rest == 1 ? 0 : rest)
    #expect(token.utf8.count >= JWS.maximumBytes - 1)
    #expect(failure(token) == nil)
    #expect(
      failure(token + String(repeating: "A", count: 1 + JWS.maximumBytes - token.utf8.count)) == .tooLong)
  }

  @Test func `keys in the header are never used`() throws {
    // The attacker signs and sends the key along. Verification uses the expected key, and fails.
    let attacker = try PrivateKey.generate(for: .ES256)
    let signer = try Signer(key: attacker, algorithm: .ES256)
    let header: JSONObject = [
      "jwk": .object(attacker.publicKey.jwk()), "jku": "https://attacker.example/keys",
      "x5u": "https://attacker.example",
    ]
    let text = try JWS.sign(header: header, payload: [], with: signer)
    let token = try JWS.Compact(parsing: Array(text.utf8))
    #expect(token.verify(with: attacker.publicKey, algorithm: .ES256))
    #expect(try !token.verify(with: PublicKey(jwk: Self.exampleKey), algorithm: .ES256))
  }

  @Test func `a token that names another algorithm than it was signed with is refused`() throws {
    // Both signatures are valid, but the header names another algorithm than expected.
    let input = encoded(#"{"alg":"RS256"}"#) + ".e30"
    let signer = try Signer(key: PrivateKey(KeyFixtures.rsa2048), algorithm: .PS256)
    let signed = try JWS.Compact(
      parsing: Array((input + "." + Base64URL.encode(signer.sign(Array(input.utf8)))).utf8))
    #expect(!signed.verify(with: signer.key.publicKey, algorithm: .PS256))
    #expect(!signed.verify(with: signer.key.publicKey, algorithm: .RS256))
    let key = try SymmetricKey(Secret([UInt8](repeating: 7, count: 64)), algorithm: .HS256)
    let coded = try JWS.Compact(
      parsing: Array((input + "." + Base64URL.encode(key.code(Array(input.utf8)))).utf8))
    #expect(!coded.verify(with: key))
  }

  @Test func `a secret shorter than its digest is refused`() throws {
    #expect(throws: KeyError.weakSecret(bits: 248, .HS256)) {
      try SymmetricKey(Secret([UInt8](repeating: 1, count: 31)), algorithm: .HS256)
    }
    _ = try SymmetricKey(Secret([UInt8](repeating: 1, count: 32)), algorithm: .HS256)
    #expect(throws: KeyError.self) {
      try SymmetricKey(Secret([UInt8](repeating: 1, count: 63)), algorithm: .HS512)
    }
  }
}

enum JSONErrorFixtures {
  /// The parser's error for an empty text.
  static let empty: JSONError = {
    do throws(JSONError) {
      _ = try JSONValue(parsing: [])
      preconditionFailure("nothing is no JSON")
    } catch {
      return error
    }
  }()
}
