// Issues X.509 certificates for the emulated attestation authorities of the sandbox.

import COpenSSL

extension X509Certificate {
  /// The content of a certificate to issue.
  public struct Content: Sendable {
    /// The common name of its subject.
    public var name: String
    /// The subject's key.
    public var key: PublicKey
    /// The first and the last second of its validity, since 1970-01-01T00:00:00Z.
    public var validity: ClosedRange<Int64>
    /// The value of its basic constraints, as OpenSSL writes them: `CA:TRUE,pathlen:0`.
    public var constraints: String
    /// The value of its key usage, as OpenSSL writes it: `keyCertSign,cRLSign`.
    public var usage: String
    /// The values of further extensions, by object identifier in dotted form.
    public var extensions: [(oid: String, value: [UInt8])] = []

    /// Creates content without further extensions.
    public init(
      name: String, key: PublicKey, validity: ClosedRange<Int64>, constraints: String, usage: String
    ) {
      self.name = name
      self.key = key
      self.validity = validity
      self.constraints = constraints
      self.usage = usage
    }
  }

  /// Issues a certificate, signed by ECDSA with SHA-256 (`X509_sign`).
  ///
  /// - Parameters:
  ///   - issuer: The common name of the authority; the subject's own for a root.
  ///   - key: The authority's key.
  public static func issue(
    _ content: Content, by issuer: String, with key: PrivateKey
  ) throws(KeyError) -> X509Certificate {
    ERR_clear_error()
    guard let handle = X509_new() else { throw .failed(OpenSSLError(operation: "X509_new")) }
    let certificate = Unfinished(handle: handle)
    let subjectKey = try PKey(publicDER: content.key.subjectPublicKeyInfo)
    guard X509_set_version(handle, 2) == 1,
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(handle), UInt64.random(in: 1...UInt64.max >> 1)) == 1,
      name(X509_get_subject_name(handle), content.name), name(X509_get_issuer_name(handle), issuer),
      ASN1_TIME_set(X509_getm_notBefore(handle), time_t(content.validity.lowerBound)) != nil,
      ASN1_TIME_set(X509_getm_notAfter(handle), time_t(content.validity.upperBound)) != nil,
      X509_set_pubkey(handle, subjectKey.handle) == 1
    else { throw .failed(OpenSSLError(operation: "X509_set_pubkey")) }
    for (name, value) in [(NID_basic_constraints, content.constraints), (NID_key_usage, content.usage)] {
      let made = X509V3_EXT_conf_nid(nil, nil, name, "critical," + value)
      defer { X509_EXTENSION_free(made) }
      guard made != nil, X509_add_ext(handle, made, -1) == 1 else {
        throw .failed(OpenSSLError(operation: "X509_add_ext"))
      }
    }
    for further in content.extensions {
      let object = OBJ_txt2obj(further.oid, 1)
      defer { ASN1_OBJECT_free(object) }
      let value = ASN1_OCTET_STRING_new()
      defer { ASN1_OCTET_STRING_free(value) }
      guard ASN1_OCTET_STRING_set(value, further.value, Int32(further.value.count)) == 1 else {
        throw .failed(OpenSSLError(operation: "ASN1_OCTET_STRING_set"))
      }
      let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
      defer { X509_EXTENSION_free(made) }
      guard made != nil, X509_add_ext(handle, made, -1) == 1 else {
        throw .failed(OpenSSLError(operation: "X509_EXTENSION_create_by_OBJ"))
      }
    }
    guard X509_sign(handle, key.key.handle, EVP_sha256()) > 0 else {
      throw .failed(OpenSSLError(operation: "X509_sign"))
    }
    return certificate.finished()
  }

  /// The certificate as DER; empty if OpenSSL cannot encode it.
  public var der: [UInt8] {
    let count = i2d_X509(handle, nil)
    guard count > 0 else { return [] }
    var der = [UInt8](repeating: 0, count: Int(count))
    der.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      _ = i2d_X509(handle, &cursor)
    }
    return der
  }

  /// The certificate as PEM, with a final newline.
  public var pem: [UInt8] { PEM.text(label: "CERTIFICATE", der: der) }

  private static func name(_ name: OpaquePointer?, _ text: String) -> Bool {
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1
  }

  /// A handle that is freed unless it becomes a certificate.
  private struct Unfinished: ~Copyable {
    let handle: OpaquePointer
    deinit { X509_free(handle) }

    consuming func finished() -> X509Certificate {
      let handle = handle
      discard self
      return X509Certificate(taking: handle)
    }
  }
}
