// Parses an X.509 certificate from an untrusted source, reads its key and extensions, and verifies it against
// a pinned root.

import COpenSSL

/// An X.509 certificate: an `X509`, made by `d2i_X509`, `PEM_read_bio_X509` or `X509_new`, freed by
/// `X509_free` in `deinit`.
///
/// `@unchecked Sendable`: the structure is only read after `init`, which makes OpenSSL fill its caches.
/// OpenSSL counts references atomically.
public final class X509Certificate: @unchecked Sendable {
  let handle: OpaquePointer

  /// Takes ownership of a handle.
  init(taking handle: OpaquePointer) {
    self.handle = handle
    // Parses and caches the extensions now, so that later calls only read the structure.
    X509_check_purpose(handle, -1, 0)
  }

  deinit { X509_free(handle) }

  /// Reads exactly one certificate from DER; nil if the bytes are not a certificate, or if more bytes
  /// follow.
  public convenience init?(der: [UInt8]) {
    defer { ERR_clear_error() }
    let handle = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      guard let start = buffer.baseAddress else { return nil }
      var cursor: UnsafePointer<UInt8>? = start
      guard let handle = d2i_X509(nil, &cursor, buffer.count) else { return nil }
      guard cursor == start + buffer.count else {
        X509_free(handle)
        return nil
      }
      return handle
    }
    guard let handle else { return nil }
    self.init(taking: handle)
  }

  /// Reads the one certificate of a PEM text; nil if there is none, or there are several.
  public convenience init?(pem: [UInt8]) {
    defer { ERR_clear_error() }
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    var written = 0
    guard BIO_write_ex(bio, pem, pem.count, &written) == 1,
      let handle = PEM_read_bio_X509(bio, nil, nil, nil)
    else { return nil }
    self.init(taking: handle)
    if let second = PEM_read_bio_X509(bio, nil, nil, nil) {
      X509_free(second)
      return nil
    }
  }

  /// Whether the basic constraints allow the certificate to issue others (RFC 5280 §4.2.1.9).
  public var isAuthority: Bool { X509_get_extension_flags(handle) & UInt32(EXFLAG_CA) != 0 }

  /// The value of the extension with an object identifier; nil if the certificate has no such extension, or
  /// several.
  ///
  /// - Parameter oid: In dotted form.
  public func extensionValue(_ oid: String) -> [UInt8]? {
    guard let object = OBJ_txt2obj(oid, 1) else { return nil }
    defer { ASN1_OBJECT_free(object) }
    let index = X509_get_ext_by_OBJ(handle, object, -1)
    guard index >= 0, X509_get_ext_by_OBJ(handle, object, index) < 0,
      let value = X509_EXTENSION_get_data(X509_get_ext(handle, index)),
      let start = ASN1_STRING_get0_data(value)
    else { return nil }
    return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(value))))
  }

  /// The certificate's public key as an uncompressed point of 65 bytes (SEC 1 §2.3.3); nil unless it is a
  /// P-256 key.
  public var p256Point: [UInt8]? {
    let info = X509_get_X509_PUBKEY(handle)
    let count = i2d_X509_PUBKEY(info, nil)
    guard count > 0 else { return nil }
    var der = [UInt8](repeating: 0, count: Int(count))
    der.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      _ = i2d_X509_PUBKEY(info, &cursor)
    }
    // An unreadable key does not count as a P-256 key.
    guard let key = try? PublicKey(subjectPublicKeyInfo: der), key.kind == .p256 else { return nil }
    return SubjectPublicKeyInfo.keyBits(of: key.subjectPublicKeyInfo).map { Array($0) }
  }

  /// The reason why a certificate chain is not accepted.
  public enum ChainFault: Error, Hashable, Sendable {
    /// A signature, an issuer, a constraint or an algorithm is wrong.
    case untrusted
    /// One of the certificates has expired.
    case expired
    /// One of the certificates is not valid yet.
    case notYetValid
  }

  /// Verifies the chain from this certificate through exactly one intermediate authority to a root (RFC 5280
  /// §6, `X509_verify_cert`). This certificate and the intermediate one must be signed by ECDSA with SHA-256
  /// or SHA-384, and all three must be valid at the given time.
  ///
  /// - Parameter time: Seconds since 1970-01-01T00:00:00Z.
  public func verify(
    by intermediate: X509Certificate, under root: X509Certificate, at time: Int64
  ) throws(ChainFault) {
    defer { ERR_clear_error() }
    let algorithms = [NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384]
    guard intermediate.isAuthority, algorithms.contains(X509_get_signature_nid(handle)),
      algorithms.contains(X509_get_signature_nid(intermediate.handle))
    else { throw .untrusted }
    let store = X509_STORE_new()
    defer { X509_STORE_free(store) }
    let others = OPENSSL_sk_new_null()
    defer { OPENSSL_sk_free(others) }
    let context = X509_STORE_CTX_new()
    // Freed first, because the context uses the store and the list until then.
    defer { X509_STORE_CTX_free(context) }
    guard X509_STORE_add_cert(store, root.handle) == 1,
      OPENSSL_sk_push(others, UnsafeRawPointer(intermediate.handle)) == 1,
      X509_STORE_CTX_init(context, store, handle, others) == 1
    else { throw .untrusted }
    let parameters = X509_STORE_CTX_get0_param(context)
    X509_VERIFY_PARAM_set_time(parameters, time_t(time))
    // One certificate between leaf and root; no key or digest below 128 bits of security.
    X509_VERIFY_PARAM_set_depth(parameters, 1)
    X509_VERIFY_PARAM_set_auth_level(parameters, 3)
    guard X509_verify_cert(context) == 1 else {
      switch X509_STORE_CTX_get_error(context) {
      case X509_V_ERR_CERT_HAS_EXPIRED: throw .expired
      case X509_V_ERR_CERT_NOT_YET_VALID: throw .notYetValid
      default: throw .untrusted
      }
    }
    let chain = X509_STORE_CTX_get0_chain(context)
    guard OPENSSL_sk_num(chain) == 3, let second = OPENSSL_sk_value(chain, 1),
      X509_cmp(OpaquePointer(second), intermediate.handle) == 0
    else { throw .untrusted }
  }
}
