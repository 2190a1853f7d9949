// The reasons why a key is refused, explained to the person who pasted it.

/// The reason why a text is not a usable key, for the person who pasted it: the finding and the remedy. No
/// case contains any byte of the key.
public enum KeyError: Error, Hashable, Sendable {
  /// Nothing but white space.
  case empty
  /// More than `KeyText.maximumBytes`.
  case tooLong
  /// A public key where a private one is needed.
  case publicKey
  /// A private key where a public one is needed.
  case privateKey
  /// Something other than a key: its name, such as `a certificate`, and the command that helps.
  case otherThing(name: String, remedy: String)
  /// A private key encrypted with a passphrase.
  case encrypted
  /// More than one PEM block with a key. Blocks with certificates or EC parameters do not count.
  case severalBlocks
  /// Something after the last PEM block, or before `-----BEGIN` on its line.
  case textAroundPEM
  /// A PEM block without an end line, or with an end line for another label.
  case unterminatedPEM
  /// A PEM label that is not known.
  case unknownLabel
  /// Neither PEM nor Base64 nor DER.
  case notBase64
  /// Bytes that are not the DER structure of a key, decoded from a text or given as they are.
  case notDER(bytes: Int)
  /// Bytes after the end of the key's DER structure.
  case trailingData(bytes: Int)
  /// A key of a type that none of our algorithms uses.
  case unsupported(type: String)
  /// An RSA key whose modulus is shorter than 2048 bits.
  case weak(bits: Int)
  /// A shared secret shorter than its algorithm's digest.
  case weakSecret(bits: Int, MACAlgorithm)
  /// An RSA key whose modulus is longer than 8192 bits.
  case tooLarge(bits: Int)
  /// An RSA key that can be factored (CVE-2017-15361).
  case factorable
  /// The structure is valid, but the numbers in it are not: a point off the curve, or halves that do not
  /// match.
  case invalid(OpenSSLError)
  /// A key that does not fit the algorithm.
  case unfit(KeyKind, SignatureAlgorithm)
  /// OpenSSL failed in a way that is not the key's fault.
  case failed(OpenSSLError)
  /// A JWK that breaks RFC 7517 or RFC 7518.
  case invalidJWK(reason: String)
}

extension KeyError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .empty:
      "there is no key: the value is empty"
    case .tooLong:
      "this is too long for a key (more than \(KeyText.maximumBytes) bytes)"
    case .publicKey:
      "this is a public key; the private key is needed"
    case .privateKey:
      "this is a private key; give its public half (openssl pkey -pubout)"
    case .otherThing(let name, let remedy):
      "this is \(name); \(remedy)"
    case .encrypted:
      "this private key is encrypted with a passphrase; decrypt it once with: openssl pkey -in FILE -out NEWFILE"
    case .severalBlocks:
      "there is more than one PEM block; leave exactly one key"
    case .textAroundPEM:
      "there is text before -----BEGIN on its line or after the -----END line; leave only the PEM block"
    case .unterminatedPEM:
      "the PEM block has no matching -----END line; copy the whole block, first line to last"
    case .unknownLabel:
      "the PEM block is not a key; it should begin -----BEGIN PRIVATE KEY----- or -----BEGIN PUBLIC KEY-----"
    case .notBase64:
      "this is neither PEM nor Base64; give a PEM block or the Base64 of a PKCS#8 key on one line"
    case .notDER(let bytes):
      "the Base64 decodes to \(bytes) bytes, which are not the DER form of a key; give a PEM block or the Base64 of a PKCS#8 key"
    case .trailingData(let bytes):
      "\(bytes) bytes follow the end of the key; leave exactly one key"
    case .unsupported(let type):
      "this is a key of type \(type), which no supported algorithm uses; use P-256, P-384, P-521, RSA or Ed25519"
    case .weak(let bits):
      "this RSA key has \(bits) bits; at least 2048 are needed"
    case .weakSecret(let bits, let algorithm):
      "this secret has \(bits) bits; \(algorithm.rawValue) needs at least \(8 * algorithm.digest.byteCount)"
    case .tooLarge(let bits):
      "this RSA key has \(bits) bits; at most 8192 are supported"
    case .factorable:
      "this RSA key was made by a broken generator and can be factored (CVE-2017-15361); make a new one"
    case .invalid(let error):
      "the numbers in this key do not belong together; it is damaged (\(error))"
    case .unfit(let kind, let algorithm):
      "\(kind.withArticle) key does not fit \(algorithm.rawValue); use \(kind.algorithms.phrase)"
    case .failed(let error):
      "the key could not be used: \(error)"
    case .invalidJWK(let reason):
      "this JWK is not valid: \(reason)"
    }
  }
}

extension KeyKind {
  fileprivate var withArticle: String {
    switch self {
    case .ed25519, .rsa: "an \(self)"
    case .p256, .p384, .p521: "a \(self)"
    }
  }
}

extension [SignatureAlgorithm] {
  fileprivate var phrase: String {
    guard let last else { return "another key" }
    let others = dropLast().map(\.rawValue).joined(separator: ", ")
    return others.isEmpty ? last.rawValue : "\(others) or \(last.rawValue)"
  }
}
