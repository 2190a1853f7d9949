// Reads and writes public keys as JSON Web Keys (RFC 7517, RFC 7518 §6, RFC 8037 §2).

public import JSON

extension PublicKey {
  /// Reads the public key of a JWK of type EC, RSA or OKP. Private members (`d`, `p`, …) are ignored.
  ///
  /// - Throws: `KeyError.invalidJWK` with the missing or malformed member, or the fault of the numbers.
  public convenience init(jwk: JSONValue) throws(KeyError) {
    guard let type = jwk["kty"]?.string else { throw .invalidJWK(reason: "kty is missing") }
    switch type {
    case "EC":
      let kind: KeyKind
      switch jwk["crv"]?.string {
      case "P-256": kind = .p256
      case "P-384": kind = .p384
      case "P-521": kind = .p521
      default: throw .invalidJWK(reason: "crv is not P-256, P-384 or P-521")
      }
      // RFC 7518 §6.2.1.2: the full length of a coordinate, leading zeros included.
      let x = try Self.bytes("x", of: jwk)
      let y = try Self.bytes("y", of: jwk)
      guard x.count == kind.coordinateBytes, y.count == kind.coordinateBytes,
        let der = SubjectPublicKeyInfo.ec(kind, x: x, y: y)
      else { throw .invalidJWK(reason: "x or y does not have the length of the curve") }
      try self.init(subjectPublicKeyInfo: der)
    case "RSA":
      let n = try Self.magnitude("n", of: jwk)
      let e = try Self.magnitude("e", of: jwk)
      // RSA needs an odd exponent greater than 1.
      guard e.count <= 8, let last = e.last, last & 1 == 1, e != [1] else {
        throw .invalidJWK(reason: "e is not an odd number of 3 to 64 bits")
      }
      guard n.count <= 1024 else { throw .tooLarge(bits: 8 * n.count) }
      try self.init(subjectPublicKeyInfo: SubjectPublicKeyInfo.rsa(modulus: n, exponent: e))
    case "OKP":
      guard jwk["crv"]?.string == "Ed25519" else { throw .invalidJWK(reason: "crv is not Ed25519") }
      let x = try Self.bytes("x", of: jwk)
      guard x.count == 32 else { throw .invalidJWK(reason: "x does not have 32 bytes") }
      try self.init(subjectPublicKeyInfo: SubjectPublicKeyInfo.ed25519(x))
    default:
      throw .invalidJWK(reason: "kty is not EC, RSA or OKP")
    }
  }

  /// A number of a JWK without leading zero octets. RFC 7518 §6.3.1.1 forbids them, but warns that some
  /// libraries write one.
  static func magnitude(_ name: String, of jwk: JSONValue) throws(KeyError) -> [UInt8] {
    let magnitude = Array(try bytes(name, of: jwk).drop { $0 == 0 })
    guard !magnitude.isEmpty else { throw .invalidJWK(reason: "\(name) is zero") }
    return magnitude
  }

  private static func bytes(_ name: String, of jwk: JSONValue) throws(KeyError) -> [UInt8] {
    guard let text = jwk[name]?.string else { throw .invalidJWK(reason: "\(name) is missing") }
    guard let bytes = Base64URL.decode(text), !bytes.isEmpty else {
      throw .invalidJWK(reason: "\(name) is not Base64url")
    }
    return bytes
  }

  /// The thumbprint (RFC 7638 §3): SHA-256 of the JWK with the required members alone.
  public var thumbprint: SHA256Digest { SHA256Digest(of: jwk().serialized()) }

  /// The public JWK with the required members alone, in the order RFC 7638 §3.2 sorts them.
  public func jwk() -> JSONObject {
    let bits = Array(SubjectPublicKeyInfo.keyBits(of: subjectPublicKeyInfo) ?? [])
    switch kind {
    case .p256, .p384, .p521:
      let size = kind.coordinateBytes ?? 0
      precondition(bits.count == 1 + 2 * size && bits[0] == 0x04, "an uncompressed point")
      return [
        "crv": .string(kind.description), "kty": "EC", "x": .string(Base64URL.encode(Array(bits[1...size]))),
        "y": .string(Base64URL.encode(Array(bits[(1 + size)...]))),
      ]
    case .ed25519: return ["crv": "Ed25519", "kty": "OKP", "x": .string(Base64URL.encode(bits))]
    case .rsa:
      guard let parts = SubjectPublicKeyInfo.rsaParts(of: subjectPublicKeyInfo) else {
        preconditionFailure("an RSA key without modulus")
      }
      return [
        "e": .string(Base64URL.encode(Array(parts.exponent))), "kty": "RSA",
        "n": .string(Base64URL.encode(Array(parts.modulus))),
      ]
    }
  }
}
