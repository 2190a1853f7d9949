// A public key that verifies signatures, and its fingerprint and PEM form.

import Synchronization

/// A public key of P-256, P-384, P-521, RSA (2048 to 8192 bits) or Ed25519.
public final class PublicKey: Sendable {
  /// The SubjectPublicKeyInfo (RFC 5280 §4.1), points uncompressed.
  public let subjectPublicKeyInfo: [UInt8]
  private let key: PKey
  private let pools = Mutex<[SignatureAlgorithm: SignatureContextPool]>([:])

  /// Reads exactly one public key: PEM (SubjectPublicKeyInfo or PKCS#1), its Base64, or DER. The point must
  /// lie on its curve.
  ///
  /// - Throws: `KeyError` that says what the text is instead, and what to do.
  public convenience init(_ text: [UInt8]) throws(KeyError) {
    let (der, shape) = try KeyText.der(of: text, .publicKey)
    try self.init(subjectPublicKeyInfo: shape == .rsaPublic ? SubjectPublicKeyInfo.rsa(pkcs1: der) : der)
  }

  /// Reads a public key from a string; see `init(_:)` over bytes.
  public convenience init(_ text: String) throws(KeyError) { try self.init(Array(text.utf8)) }

  init(subjectPublicKeyInfo der: [UInt8]) throws(KeyError) {
    key = try PKey(publicDER: der)
    subjectPublicKeyInfo = try key.subjectPublicKeyInfo()
    if case .rsa = key.kind, let parts = SubjectPublicKeyInfo.rsaParts(of: subjectPublicKeyInfo) {
      guard !ROCA.marks(parts.modulus) else { throw .factorable }
    }
  }

  /// The type of the key.
  public var kind: KeyKind { key.kind }

  /// Whether the key can verify signatures of the algorithm.
  public func fits(_ algorithm: SignatureAlgorithm) -> Bool { kind.algorithms.contains(algorithm) }

  /// The key as PEM, with a final newline.
  public func pem() -> String {
    String(decoding: PEM.text(label: "PUBLIC KEY", der: subjectPublicKeyInfo), as: UTF8.self)
  }

  /// SHA-256 of the SubjectPublicKeyInfo in lower-case hex, for logs and people to compare.
  public var fingerprint: String { Hex.encode(SHA256.digest(subjectPublicKeyInfo)) }

  /// Whether a signature in JWS form (R ‖ S for ECDSA) is valid for the message. False, not an error, for a
  /// signature of the wrong length and for an algorithm that the key does not fit.
  public func verify(signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
    guard fits(algorithm) else { return false }
    var signature = signature
    if let size = kind.coordinateBytes {
      guard let der = ECDSASignature.der(fromJoined: signature, size: size) else { return false }
      signature = der
    }
    let pool = pools.withLock { pools in
      if let pool = pools[algorithm] { return pool }
      let pool = SignatureContextPool(key: key, algorithm: algorithm, .verify)
      pools[algorithm] = pool
      return pool
    }
    do {
      return try pool.with { $0.verify(signature, of: message) }
    } catch {
      // OpenSSL could not create a context. An unverified signature counts as invalid.
      return false
    }
  }
}

extension PublicKey: Hashable, CustomStringConvertible {
  public static func == (a: PublicKey, b: PublicKey) -> Bool {
    a.subjectPublicKeyInfo == b.subjectPublicKeyInfo
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(subjectPublicKeyInfo) }
  /// `P-256 key` and the beginning of its fingerprint.
  public var description: String { "\(kind) key \(fingerprint.prefix(16))" }
}
