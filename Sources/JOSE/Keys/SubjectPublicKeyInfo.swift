/// Builds and parses a SubjectPublicKeyInfo (RFC 5280 §4.1, RFC 5480, RFC 8017 A.1, RFC 8410).
enum SubjectPublicKeyInfo {
  /// The AlgorithmIdentifiers of RSA and Ed25519 as whole elements, and the object identifiers of the ECDSA
  /// keys.
  private static let rsaEncryption: [UInt8] = [
    0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
  ]
  private static let ed25519: [UInt8] = [0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70]
  private static let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
  private static let curves: [KeyKind: [UInt8]] = [
    .p256: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07],
    .p384: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22],
    .p521: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23],
  ]

  /// The SubjectPublicKeyInfo of an RSAPublicKey.
  static func rsa(pkcs1: [UInt8]) -> [UInt8] { wrap(rsaEncryption, pkcs1) }

  /// The SubjectPublicKeyInfo of an RSA key, from modulus and exponent, big-endian.
  static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
    rsa(pkcs1: DER.element(DER.sequence, DER.integer(modulus) + DER.integer(exponent)))
  }

  /// The SubjectPublicKeyInfo of an Ed25519 key, from the 32 bytes of RFC 8032 §5.1.5.
  static func ed25519(_ raw: [UInt8]) -> [UInt8] { wrap(ed25519, raw) }

  /// The SubjectPublicKeyInfo of an ECDSA key, from coordinates of the curve's full length; nil for another
  /// kind.
  static func ec(_ kind: KeyKind, x: [UInt8], y: [UInt8]) -> [UInt8]? {
    curves[kind].map { wrap(DER.element(DER.sequence, ecPublicKey + $0), [0x04] + x + y) }
  }

  /// The content of the BIT STRING: a point, an RSAPublicKey or 32 bytes.
  static func keyBits(of der: [UInt8]) -> ArraySlice<UInt8>? {
    var outer = DERReader(der)
    guard let content = outer.element(DER.sequence) else { return nil }
    var inner = DERReader(content)
    guard inner.element(DER.sequence) != nil, let bits = inner.element(DER.bitString), bits.first == 0 else {
      return nil
    }
    return bits.dropFirst()
  }

  /// Modulus and exponent of an RSA key, big-endian and without leading zeros.
  static func rsaParts(of der: [UInt8]) -> (modulus: ArraySlice<UInt8>, exponent: ArraySlice<UInt8>)? {
    guard let bits = keyBits(of: der) else { return nil }
    var outer = DERReader(bits)
    guard let content = outer.element(DER.sequence) else { return nil }
    var inner = DERReader(content)
    guard let modulus = inner.magnitude(), let exponent = inner.magnitude() else { return nil }
    return (modulus, exponent)
  }

  private static func wrap(_ algorithm: [UInt8], _ key: [UInt8]) -> [UInt8] {
    DER.element(DER.sequence, algorithm + DER.element(DER.bitString, [0] + key))
  }
}
