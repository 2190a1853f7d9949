// Names the format in which a key is written, such as PEM or Base64.

/// The format of a key. People compare it when one tool accepts a key and another does not.
public struct KeyForm: Hashable, Sendable, CustomStringConvertible {
  /// The text form around the bytes of the key.
  public enum Wrapping: String, Hashable, Sendable {
    /// A PEM block (RFC 7468).
    case pem = "PEM"
    /// A PEM block whose line breaks are the two characters `\n`.
    case escapedPEM = "PEM with \\n escapes"
    /// The Base64 of the DER alone.
    case base64 = "bare Base64"
    /// The Base64 of a PEM block.
    case base64OfPEM = "Base64 of PEM"
    /// The DER itself.
    case der = "DER"
  }

  /// The binary form of the key.
  public enum Structure: String, Hashable, Sendable {
    /// PrivateKeyInfo (RFC 5208).
    case pkcs8 = "PKCS#8"
    /// ECPrivateKey (RFC 5915).
    case sec1 = "SEC1"
    /// RSAPrivateKey or RSAPublicKey (RFC 8017 A.1).
    case pkcs1 = "PKCS#1"
    /// SubjectPublicKeyInfo (RFC 5280 §4.1).
    case subjectPublicKeyInfo = "SubjectPublicKeyInfo"
  }

  /// The text form around the bytes of the key.
  public let wrapping: Wrapping
  /// The binary form of the key.
  public let structure: Structure
  /// Whether it is a private key.
  public let isPrivate: Bool

  /// Detects the format of a text that contains one key, private or public. The key itself is not checked.
  ///
  /// - Throws: `KeyError` that says what the text is instead of a key.
  public init(of text: [UInt8]) throws(KeyError) {
    var der: [UInt8]
    let shape: DERShape
    do throws(KeyError) {
      (der, shape) = try KeyText.der(of: text, .privateKey)
    } catch .publicKey {
      (der, shape) = try KeyText.der(of: text, .publicKey)
    }
    wipe(&der)
    wrapping = Self.wrapping(of: text)
    switch shape {
    case .pkcs8: (structure, isPrivate) = (.pkcs8, true)
    case .sec1: (structure, isPrivate) = (.sec1, true)
    case .rsaPrivate: (structure, isPrivate) = (.pkcs1, true)
    case .rsaPublic: (structure, isPrivate) = (.pkcs1, false)
    // Only SubjectPublicKeyInfo gets here. The other structures are not keys, and were refused above.
    case .subjectPublicKeyInfo, .encryptedPKCS8, .certificate, .certificateRequest, .pkcs12, .unknown:
      (structure, isPrivate) = (.subjectPublicKeyInfo, false)
    }
  }

  /// `PEM, PKCS#8`.
  public var description: String { "\(wrapping.rawValue), \(structure.rawValue)" }

  private static func wrapping(of text: [UInt8]) -> Wrapping {
    if text.firstRange(of: Array("-----BEGIN".utf8)) != nil {
      return text.firstRange(of: Array("\\n".utf8)) == nil ? .pem : .escapedPEM
    }
    if text.contains(where: { $0 >= 0x7F || ($0 < 0x20 && !(0x09...0x0D).contains($0)) }) { return .der }
    // The Base64 of "-----BEGIN", without the characters that depend on the next bytes.
    return text.firstRange(of: Array("LS0tLS1CRUdJTi".utf8)) == nil ? .base64 : .base64OfPEM
  }
}
