// Reads JSON and keys from the tables of published test vectors.

import JSON
import TestSupport
import Testing

@testable import JOSE

extension Vector {
  /// The JSON in a column.
  func json(_ column: String) throws -> JSONValue { try JSONValue(parsing: Array(try text(column).utf8)) }

  /// Whether its source calls it valid.
  func isValid() throws -> Bool { try text("verdict") == "valid" }

  /// The vector with this name in its source.
  static func one(_ name: String, of table: String) throws -> Vector {
    try #require(try Self.table(table).first { try $0.text("id") == name })
  }
}

/// Members that tests read from JSON Web Keys.
enum KeyMembers {
  /// A key that lacks what a test reads from it.
  struct Missing: Error {}

  static func base64URL(_ value: JSONValue?) throws -> [UInt8] {
    guard let text = value?.string, let bytes = Base64URL.decode(text) else { throw Missing() }
    return bytes
  }

  /// The SEC1 DER of an EC JWK's private half, so that vectors with `d` can sign.
  static func privateKey(_ jwk: JSONValue) throws -> PrivateKey {
    let curves: [String: [UInt8]] = [
      "P-256": [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07],
      "P-384": [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22],
      "P-521": [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23],
    ]
    switch jwk["kty"]?.string {
    case "EC":
      guard let name = jwk["crv"]?.string, let curve = curves[name] else { throw Missing() }
      let point = try [0x00, 0x04] + base64URL(jwk["x"]) + base64URL(jwk["y"])
      let content =
        try DER.integer([1] as [UInt8]) + DER.element(DER.octetString, base64URL(jwk["d"]))
        + DER.element(0xA0, curve) + DER.element(0xA1, DER.element(DER.bitString, point))
      return try PrivateKey(DER.element(DER.sequence, content))
    case "RSA":
      let numbers = try ["n", "e", "d", "p", "q", "dp", "dq", "qi"].map {
        DER.integer(try base64URL(jwk[$0]))
      }
      return try PrivateKey(DER.element(DER.sequence, DER.integer([] as [UInt8]) + numbers.flatMap { $0 }))
    default:
      // RFC 8410 §7: PKCS#8 around an OCTET STRING around the seed.
      let seed = DER.element(DER.octetString, DER.element(DER.octetString, try base64URL(jwk["d"])))
      let content = DER.integer([] as [UInt8]) + [0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70] + seed
      return try PrivateKey(DER.element(DER.sequence, content))
    }
  }
}
