// Reads X.509 certificates from PEM: names, validity, key and issuer.

import COpenSSL

/// An X.509 certificate: an `X509`, made by `PEM_read_bio_X509`, freed by `X509_free` in `deinit`.
///
/// `@unchecked Sendable`: after `init`, where OpenSSL fills the structure's caches, the structure is only
/// read. OpenSSL counts its references atomically.
public final class Certificate: @unchecked Sendable {
  let handle: OpaquePointer
  /// The subject's name in the form of RFC 4514: `CN=api.example,O=Example`.
  public let subject: String
  /// The host names and addresses that the certificate is valid for, as OpenSSL writes them:
  /// `DNS:api.example, IP Address:203.0.113.9`. Empty if it has no `subjectAltName`; clients then refuse it.
  public let names: String
  /// The beginning of the certificate's validity, in seconds since 1970-01-01T00:00:00Z.
  public let notBefore: Int64
  /// The last second of the certificate's validity, in seconds since 1970-01-01T00:00:00Z.
  public let notAfter: Int64
  /// SHA-256 of the certificate's DER: certificates with the same fingerprint are the same.
  public let fingerprint: [UInt8]
  /// SHA-256 of the certificate's key as DER, with the key's type (SubjectPublicKeyInfo), as in pins (RFC
  /// 7469 §2.4).
  public let keyFingerprint: [UInt8]

  /// Takes over a handle. Nil if the times of validity cannot be read; the handle is then freed.
  private init?(taking handle: OpaquePointer) {
    self.handle = handle
    notBefore = Self.seconds(X509_get0_notBefore(handle)) ?? .max
    notAfter = Self.seconds(X509_get0_notAfter(handle)) ?? .min
    // Parses and caches the extensions now, so that later calls only read the structure.
    X509_check_purpose(handle, -1, 0)
    subject = Self.text { X509_NAME_print_ex($0, X509_get_subject_name(handle), 0, callgate_name_form) }
    names = Self.names(of: handle)
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    X509_digest(handle, EVP_sha256(), &digest, &count)
    fingerprint = digest
    let key = Self.key(of: handle)
    EVP_Digest(key, key.count, &digest, &count, EVP_sha256(), nil)
    keyFingerprint = digest
    guard notBefore < .max, notAfter > .min else { return nil }
  }

  deinit { X509_free(handle) }

  /// Reads every certificate in a PEM text, in order. Other blocks are skipped.
  ///
  /// - Throws: If a certificate cannot be read.
  public static func chain(pem: [UInt8]) throws(TLSFailure) -> [Certificate] {
    TLSFailure.forget()
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    var written = 0
    guard BIO_write_ex(bio, pem, pem.count, &written) == 1 else { throw TLSFailure("BIO_write_ex") }
    var chain: [Certificate] = []
    while let handle = PEM_read_bio_X509(bio, nil, noPassphrase, nil) {
      guard let certificate = Certificate(taking: handle) else { throw TLSFailure("ASN1_TIME_diff") }
      chain.append(certificate)
    }
    // The end of the text is reported as a failure to find another first line.
    guard PEMText.isAtEnd(ERR_peek_last_error()) else { throw TLSFailure("PEM_read_bio_X509") }
    ERR_clear_error()
    return chain
  }

  /// Whether another certificate is the issuer of this one. Compares names, key identifiers and key usage;
  /// does not check the signature (`X509_check_issued`).
  func isIssued(by other: Certificate) -> Bool { X509_check_issued(other.handle, handle) == X509_V_OK }

  /// Whether this certificate names itself as its issuer.
  var isSelfIssued: Bool { X509_check_issued(handle, handle) == X509_V_OK }

  // MARK: -

  /// Returns the text that a function prints into a memory BIO: at most 16,384 octets, empty if it fails.
  private static func text(_ print: (OpaquePointer?) -> Int32) -> String {
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    guard print(bio) >= 0 else { return "" }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    var count = 0
    BIO_read_ex(bio, &buffer, buffer.count, &count)
    return String(decoding: buffer[..<count], as: UTF8.self)
  }

  /// The certificate's key, with the key's type, as DER.
  private static func key(of handle: OpaquePointer) -> [UInt8] {
    let info = X509_get_X509_PUBKEY(handle)
    var der = [UInt8](repeating: 0, count: max(0, Int(i2d_X509_PUBKEY(info, nil))))
    der.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      _ = i2d_X509_PUBKEY(info, &cursor)
    }
    return der
  }

  private static func names(of handle: OpaquePointer) -> String {
    let index = X509_get_ext_by_NID(handle, NID_subject_alt_name, -1)
    guard index >= 0, let found = X509_get_ext(handle, index) else { return "" }
    return text { X509V3_EXT_print($0, found, 0, 0) }
  }

  /// Converts an ASN.1 time to seconds since 1970-01-01T00:00:00Z; nil if it cannot be read.
  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    let epoch = ASN1_TIME_set(nil, 0)
    defer { ASN1_TIME_free(epoch) }
    var days: Int32 = 0
    var rest: Int32 = 0
    guard ASN1_TIME_diff(&days, &rest, epoch, time) == 1 else { return nil }
    return Int64(days) * 86_400 + Int64(rest)
  }
}

/// A passphrase callback that supplies no passphrase (pem_password_cb(3)). Without it, OpenSSL would prompt
/// for one on the terminal.
func noPassphrase(_: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?) -> Int32 {
  -1
}

/// OpenSSL's errors about PEM.
enum PEMText {
  /// Whether an error means only that the text contains no further block.
  static func isAtEnd(_ code: UInt) -> Bool {
    code == 0 || (code >> 23 & 0xFF == UInt(ERR_LIB_PEM) && code & 0x7F_FFFF == UInt(PEM_R_NO_START_LINE))
  }
}
