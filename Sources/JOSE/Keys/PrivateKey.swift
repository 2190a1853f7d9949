/// A private key of P-256, P-384, P-521, RSA (2048 to 8192 bits) or Ed25519. Prints as `<redacted>`.
public final class PrivateKey: Sendable {
  let key: PKey
  /// The public half.
  public let publicKey: PublicKey

  /// Reads exactly one private key: PEM under any private label (line breaks may be `\n` escapes or spaces),
  /// bare Base64 of PKCS#8, SEC1 or PKCS#1, Base64 of a PEM, or raw DER. The numbers are checked against each
  /// other.
  ///
  /// - Throws: `KeyError` that says what the text is instead, and what to do. Never asks for a passphrase.
  public convenience init(_ text: [UInt8]) throws(KeyError) {
    var (der, _) = try KeyText.der(of: text, .privateKey)
    defer { wipe(&der) }
    try self.init(key: PKey(privateDER: der))
  }

  /// Reads a private key from a string; see `init(_:)` over bytes.
  public convenience init(_ text: String) throws(KeyError) { try self.init(Array(text.utf8)) }

  private init(key: PKey) throws(KeyError) {
    self.key = key
    publicKey = try PublicKey(subjectPublicKeyInfo: key.subjectPublicKeyInfo())
  }

  /// Generates a key for an algorithm: on its curve, or RSA, by default with 3072 bits (NIST SP 800-57: good
  /// beyond 2030).
  public static func generate(
    for algorithm: SignatureAlgorithm, rsaBits: Int = 3072
  ) throws(KeyError) -> PrivateKey {
    let kind: KeyKind =
      switch algorithm {
      case .ES256: .p256
      case .ES384: .p384
      case .ES512: .p521
      case .EdDSA: .ed25519
      case .PS256, .PS384, .PS512, .RS256, .RS384, .RS512: .rsa(bits: rsaBits)
      }
    return try PrivateKey(key: PKey(generating: kind))
  }

  /// The type of the key.
  public var kind: KeyKind { key.kind }

  /// Whether the key can sign with the algorithm.
  public func fits(_ algorithm: SignatureAlgorithm) -> Bool { kind.algorithms.contains(algorithm) }

  /// The key as unencrypted PKCS#8 DER (RFC 5208).
  public func pkcs8DER() throws(KeyError) -> Secret { try key.pkcs8() }

  /// The key as unencrypted PKCS#8 PEM, with a final newline.
  public func pem() throws(KeyError) -> Secret {
    var der = try key.pkcs8().exposedBytes()
    defer { wipe(&der) }
    var text = PEM.text(label: "PRIVATE KEY", der: der)
    return Secret(wiping: &text)
  }
}

extension PrivateKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// PEM, the textual form of keys and certificates (RFC 7468).
enum PEM {
  /// The PEM text with a final newline, as bytes, so that the text of a private key can be wiped.
  static func text(label: String, der: [UInt8]) -> [UInt8] {
    var body: [UInt8] = []
    Base64Codec.append(der, alphabet: Base64Codec.standardAlphabet, padding: true, to: &body)
    defer { wipe(&body) }
    var text: [UInt8] = []
    // Reserve the whole size at once: growing the array would leave copies of the key behind.
    text.reserveCapacity(body.count + body.count / 64 + 2 * label.utf8.count + 64)
    text += "-----BEGIN \(label)-----\n".utf8
    for start in stride(from: 0, to: body.count, by: 64) {
      text += body[start..<min(start + 64, body.count)]
      text.append(0x0A)
    }
    text += "-----END \(label)-----\n".utf8
    return text
  }
}
