import COpenSSL
import Glibc

/// Keys and certificates made for a test run, and the server-side TLS contexts that show them.
///
/// `@unchecked Sendable`: the context is changed only while it is made; OpenSSL lets any number of threads
/// make sessions from it.
final class TLSContext: @unchecked Sendable {
  let pointer: OpaquePointer

  /// A server that shows a certificate. `onlyTLS11` makes it speak nothing newer.
  init(_ identity: TestIdentity, onlyTLS11: Bool = false) {
    guard let context = SSL_CTX_new(TLS_server_method()) else { preconditionFailure("SSL_CTX_new") }
    pointer = context
    // Keys and protocols that a client must refuse have to be shown first.
    SSL_CTX_set_security_level(context, 0)
    if onlyTLS11 {
      SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_1_VERSION), nil)
    }
    precondition(SSL_CTX_use_certificate(context, identity.certificate) == 1, "SSL_CTX_use_certificate")
    precondition(SSL_CTX_use_PrivateKey(context, identity.key) == 1, "SSL_CTX_use_PrivateKey")
  }

  deinit { SSL_CTX_free(pointer) }
}

/// A key with its certificate, valid for an hour around now unless it says otherwise.
///
/// `@unchecked Sendable`: nothing changes after `init`; OpenSSL counts references atomically.
final class TestIdentity: @unchecked Sendable {
  enum Key {
    case p256
    case rsa(bits: Int32)
  }

  let key: OpaquePointer
  let certificate: OpaquePointer

  /// Makes a certificate for names in OpenSSL's form (`DNS:localhost,IP:127.0.0.1`), signed by the issuer or
  /// by itself.
  init(
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
    precondition(X509_sign(certificate, issuer?.key ?? key, EVP_sha256()) > 0, "X509_sign")
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
  }

  /// Writes the certificate as PEM into a new file of the temporary directory.
  func writeCertificate() -> String {
    var path = Array("/tmp/upstream-ca-XXXXXX".utf8CString)
    let fd = mkstemp(&path)
    guard fd >= 0, let file = fdopen(fd, "w") else { preconditionFailure("mkstemp") }
    PEM_write_X509(file, certificate)
    fclose(file)
    return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
    case .p256:
      context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
      EVP_PKEY_keygen_init(context)
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
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
