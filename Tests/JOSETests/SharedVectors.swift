import Foundation
import JSON
import Testing

@testable import JOSE

/// Published vectors that stand beside the checkout where they are available; the tests that need them run only there.
enum SharedVectors {
  static let folder: String? = {
    let beside = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared").path
    let path = (ProcessInfo.processInfo.environment["CALLGATE_SHARED"] ?? beside) + "/vectors"
    return FileManager.default.fileExists(atPath: path + "/wycheproof") ? path : nil
  }()

  static func read(_ name: String) throws -> JSONValue {
    let path = try #require(folder) + "/" + name
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    return try JSONValue(
      parsing: bytes, limits: JSONLimits(bytes: 8 << 20, depth: 32, members: 256, values: 1 << 20))
  }

  /// A vector that lacks what a test reads from it.
  struct Missing: Error {}

  static func text(_ value: JSONValue?) throws -> String {
    guard let text = value?.string else { throw Missing() }
    return text
  }

  static func bytes(_ value: JSONValue?) throws -> [UInt8] { Array(try text(value).utf8) }

  static func hex(_ value: JSONValue?) throws -> [UInt8] {
    guard let bytes = Hex.decode(try text(value)) else { throw Missing() }
    return bytes
  }

  static func base64URL(_ value: JSONValue?) throws -> [UInt8] {
    guard let bytes = Base64URL.decode(try text(value)) else { throw Missing() }
    return bytes
  }

  static func algorithm(_ value: JSONValue?) throws -> SignatureAlgorithm {
    guard let algorithm = SignatureAlgorithm(rawValue: try text(value)) else { throw Missing() }
    return algorithm
  }

  static func array(_ value: JSONValue?) throws -> [JSONValue] {
    guard let array = value?.array else { throw Missing() }
    return array
  }

  /// The SEC1 DER of an EC JWK's private half, so that vectors with `d` can sign.
  static func privateKey(_ jwk: JSONValue) throws -> PrivateKey {
    let curves: [String: [UInt8]] = [
      "P-256": [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07],
      "P-384": [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22],
      "P-521": [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23],
    ]
    switch try text(jwk["kty"]) {
    case "EC":
      guard let curve = curves[try text(jwk["crv"])] else { throw Missing() }
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
