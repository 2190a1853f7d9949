// Recognizes the kind of key in DER before OpenSSL decodes it, so that users get a helpful message.

/// The kind of a DER structure, recognized by its outermost elements. That is enough to tell users what they
/// pasted, and to pass nothing but a single key to the decoder.
enum DERShape: Equatable {
  /// PrivateKeyInfo (RFC 5208), ECPrivateKey (RFC 5915) or RSAPrivateKey (RFC 8017 A.1.2).
  case pkcs8, sec1, rsaPrivate
  /// EncryptedPrivateKeyInfo (RFC 5208).
  case encryptedPKCS8
  /// SubjectPublicKeyInfo (RFC 5280) or RSAPublicKey (RFC 8017 A.1.1).
  case subjectPublicKeyInfo, rsaPublic
  case certificate, certificateRequest, pkcs12
  case unknown

  /// The shape of the first element in the bytes, and the number of bytes that follow it.
  static func of(_ bytes: [UInt8]) -> (shape: DERShape, trailing: Int) {
    var outer = DERReader(bytes)
    guard let content = outer.element(DER.sequence) else { return (.unknown, 0) }
    return (inside(DERReader(content)), outer.remaining)
  }

  private static func inside(_ reader: DERReader) -> DERShape {
    var reader = reader
    guard let first = reader.element(), let second = reader.element() else { return .unknown }
    let third = reader.element()?.tag
    switch (first.tag, second.tag, third) {
    case (DER.integer, DER.sequence, DER.octetString): return .pkcs8
    case (DER.integer, DER.octetString, _): return .sec1
    case (DER.integer, DER.integer, DER.integer): return .rsaPrivate
    case (DER.integer, DER.integer, nil): return .rsaPublic
    case (DER.sequence, DER.octetString, nil): return .encryptedPKCS8
    case (DER.sequence, DER.bitString, nil): return .subjectPublicKeyInfo
    case (DER.integer, DER.sequence, _) where Array(first.content) == [3]: return .pkcs12
    case (DER.sequence, DER.sequence, DER.bitString):
      // A certificate starts with a version in [0], a request with a bare INTEGER (as did certificates of
      // version 1, long extinct).
      return DERReader(first.content).nextTag == DER.contextZero ? .certificate : .certificateRequest
    default: return .unknown
    }
  }

  /// The error for a structure that is not a private key; nil for a private key, and for an unknown
  /// structure.
  var refusalAsPrivateKey: KeyError? {
    switch self {
    case .pkcs8, .sec1, .rsaPrivate: nil
    case .subjectPublicKeyInfo, .rsaPublic: .publicKey
    case .encryptedPKCS8: .encrypted
    case .certificate, .certificateRequest, .pkcs12, .unknown: refusalAsAnyKey
    }
  }

  /// The error for a structure that is not a public key; nil for a public key, and for an unknown structure.
  var refusalAsPublicKey: KeyError? {
    switch self {
    case .subjectPublicKeyInfo, .rsaPublic: nil
    case .pkcs8, .sec1, .rsaPrivate, .encryptedPKCS8: .privateKey
    case .certificate, .certificateRequest, .pkcs12, .unknown: refusalAsAnyKey
    }
  }

  private var refusalAsAnyKey: KeyError? {
    switch self {
    case .certificate: .certificate
    case .certificateRequest: .certificateRequest
    case .pkcs12: .pkcs12
    case .pkcs8, .sec1, .rsaPrivate, .encryptedPKCS8, .subjectPublicKeyInfo, .rsaPublic, .unknown: nil
    }
  }
}

extension KeyError {
  static let certificate = otherThing(
    name: "a certificate",
    remedy: "give the key itself (the public key in it: openssl x509 -pubkey -noout -in FILE)")
  static let certificateRequest = otherThing(name: "a certificate request", remedy: "give the key itself")
  static let pkcs12 = otherThing(
    name: "a PKCS#12 bundle", remedy: "extract the key with: openssl pkcs12 -nodes -nocerts -in FILE")
  static let openSSH = otherThing(
    name: "a key in OpenSSH's own form", remedy: "convert a copy with: ssh-keygen -p -m PKCS8 -f FILE")
  static let json = otherThing(
    name: "JSON", remedy: "give the private key as PEM or as Base64, the value of private_key alone")
}
