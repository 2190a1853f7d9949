// Makes keys with certificates for the tests that need TLS.

import COpenSSL
import Glibc

/// A key and its certificate, generated for one test run. The certificate is valid from an hour ago to an
/// hour from now unless `init` says otherwise. `@unchecked Sendable`: nothing changes after `init`, and
/// OpenSSL counts references atomically.
///
/// `@unchecked Sendable`: nothing changes after `init`; OpenSSL counts references atomically.
public final class TestIdentity: @unchecked Sendable {
  public enum Key: Sendable {
    case p256, p384, ed25519
    case rsa(bits: Int32)
  }

  public let key: OpaquePointer
  public let certificate: OpaquePointer

  /// Makes a certificate for names in OpenSSL's form (`DNS:localhost,IP:127.0.0.1`), signed by `issuer`;
  /// self-signed if nil.
  ///
  /// - Parameters:
  ///   - validFrom: seconds from now.
  ///   - validUntil: seconds from now.
  public init(
    _ names: String, issuer: TestIdentity? = nil, key kind: Key = .p256, isAuthority: Bool = false,
    validFrom: Int = -3600, validUntil: Int = 3600
  ) {
    key = Self.makeKey(kind)
    guard let certificate = X509_new() else { preconditionFailure("X509_new") }
    self.certificate = certificate
    X509_set_version(certificate, 2)
    let serial = Int.random(in: 1...Int.max)
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial)
    X509_gmtime_adj(X509_getm_notBefore(certificate), validFrom)
    X509_gmtime_adj(X509_getm_notAfter(certificate), validUntil)
    X509_set_pubkey(certificate, key)
    let name = X509_get_subject_name(certificate)
    X509_NAME_add_entry_by_txt(
      name, "CN", 0x1001, isAuthority ? "Test authority \(serial)" : "Test", -1, -1, 0)
    X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? name)
    add("basicConstraints", isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE")
    if !names.isEmpty { add("subjectAltName", names) }
    let signer = issuer?.key ?? key
    let digest = EVP_PKEY_is_a(signer, "ED25519") == 1 ? nil : EVP_sha256()
    precondition(X509_sign(certificate, signer, digest) > 0, "X509_sign")
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
  }

  /// The last second in which the certificate is valid, since 1970-01-01T00:00:00Z.
  public var notAfter: Int {
    var time = tm()
    precondition(ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1, "ASN1_TIME_to_tm")
    return timegm(&time)
  }

  /// The certificate as PEM.
  public var certificatePEM: [UInt8] { Self.pem { PEM_write_bio_X509($0, certificate) } }

  /// SHA-256 of the public key as DER (SubjectPublicKeyInfo), in Base64: the form in which a pin names a key
  /// (RFC 7469 §2.4).
  public var keyPin: String {
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &der)
    precondition(count > 0, "i2d_PUBKEY")
    var digest = [UInt8](repeating: 0, count: 32)
    EVP_Digest(der, Int(count), &digest, nil, EVP_sha256(), nil)
    CRYPTO_free(der, nil, 0)
    var text = [UInt8](repeating: 0, count: 45)
    EVP_EncodeBlock(&text, digest, 32)
    return String(decoding: text.dropLast(), as: UTF8.self)
  }

  /// The private key as PEM.
  public var keyPEM: [UInt8] {
    Self.pem { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
  }

  /// The private key as PEM, encrypted with a passphrase.
  public func keyPEM(passphrase: String) -> [UInt8] {
    Self.pem {
      PEM_write_bio_PrivateKey($0, key, EVP_aes_128_cbc(), passphrase, Int32(passphrase.utf8.count), nil, nil)
    }
  }

  /// Writes the certificate as PEM into a new file of the temporary directory.
  public func writeCertificate() -> String {
    var path = Array("/tmp/test-ca-XXXXXX".utf8CString)
    let fd = mkstemp(&path)
    guard fd >= 0, let file = fdopen(fd, "w") else { preconditionFailure("mkstemp") }
    PEM_write_X509(file, certificate)
    fclose(file)
    return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func pem(_ write: (OpaquePointer?) -> Int32) -> [UInt8] {
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    precondition(write(bio) == 1, "PEM_write_bio")
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var count = 0
    BIO_read_ex(bio, &buffer, buffer.count, &count)
    return Array(buffer[..<count])
  }

  private func add(_ name: String, _ value: String) {
    let `extension` = X509V3_EXT_nconf(nil, nil, name, value)
    precondition(X509_add_ext(certificate, `extension`, -1) == 1, name)
    X509_EXTENSION_free(`extension`)
  }

  private static func makeKey(_ kind: Key) -> OpaquePointer {
    var key: OpaquePointer?
    let context: OpaquePointer?
    switch kind {
    case .p256, .p384:
      context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
      EVP_PKEY_keygen_init(context)
      let curve = if case .p384 = kind { NID_secp384r1 } else { NID_X9_62_prime256v1 }
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, curve)
    case .ed25519:
      context = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil)
      EVP_PKEY_keygen_init(context)
    case .rsa(let bits):
      context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
      EVP_PKEY_keygen_init(context)
      EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits)
    }
    EVP_PKEY_keygen(context, &key)
    EVP_PKEY_CTX_free(context)
    guard let key else { preconditionFailure("EVP_PKEY_keygen") }
    return key
  }
}
