/// The asymmetric signature algorithms of RFC 7518 §3.1 and RFC 8037 §3.1. Neither `none` nor a MAC is among
/// them, so code that verifies with a public key can never treat that key as a shared secret.
// swift-format-ignore: AlwaysUseLowerCamelCase
// The cases are the registered names, letter for letter.
public enum SignatureAlgorithm: String, CaseIterable, Hashable, Sendable {
  case ES256, ES384, ES512
  case PS256, PS384, PS512
  case RS256, RS384, RS512
  case EdDSA

  /// The algorithm by its name in a JWK or a JWS. `Ed25519` is RFC 9864's name for `EdDSA` with a key on that
  /// curve, the only EdDSA curve that is supported here.
  ///
  /// - Returns: Nil for an unknown name.
  public init?(named name: String) { self.init(rawValue: name == "Ed25519" ? "EdDSA" : name) }

  /// The signature scheme of an algorithm.
  enum Scheme { case ecdsa, rsaPSS, rsaPKCS1, edDSA }

  var scheme: Scheme {
    switch self {
    case .ES256, .ES384, .ES512: .ecdsa
    case .PS256, .PS384, .PS512: .rsaPSS
    case .RS256, .RS384, .RS512: .rsaPKCS1
    case .EdDSA: .edDSA
    }
  }

  /// The digest of the message that is signed; nil if the scheme signs the message itself.
  var digest: DigestAlgorithm? {
    switch self {
    case .ES256, .PS256, .RS256: .sha256
    case .ES384, .PS384, .RS384: .sha384
    case .ES512, .PS512, .RS512: .sha512
    case .EdDSA: nil
    }
  }
}

/// The type of a key.
public enum KeyKind: Hashable, Sendable, CustomStringConvertible {
  case p256, p384, p521
  case ed25519
  /// RSA with the length of its modulus in bits.
  case rsa(bits: Int)

  /// `P-256`, `RSA-2048`, `Ed25519`.
  public var description: String {
    switch self {
    case .p256: "P-256"
    case .p384: "P-384"
    case .p521: "P-521"
    case .ed25519: "Ed25519"
    case .rsa(let bits): "RSA-\(bits)"
    }
  }

  /// The algorithms such a key can sign with, the recommended first.
  public var algorithms: [SignatureAlgorithm] {
    switch self {
    case .p256: [.ES256]
    case .p384: [.ES384]
    case .p521: [.ES512]
    case .ed25519: [.EdDSA]
    case .rsa: [.PS256, .PS384, .PS512, .RS256, .RS384, .RS512]
    }
  }

  /// The length of a coordinate, and of each half of a signature, in bytes; nil for a key that is not an
  /// ECDSA key.
  var coordinateBytes: Int? {
    switch self {
    case .p256: 32
    case .p384: 48
    case .p521: 66
    case .ed25519, .rsa: nil
    }
  }
}
