// Owns an OpenSSL key handle: reads keys from DER and writes them back.

import COpenSSL

/// An `EVP_PKEY`, private or public: made by the initializers below, freed by `EVP_PKEY_free` in `deinit`.
///
/// `@unchecked Sendable`: the handle is set once, no parameter is changed after `init`, and OpenSSL allows
/// any number of threads to use such a key, each with a context of its own (openssl-threads(7)).
final class PKey: @unchecked Sendable {
  let handle: OpaquePointer
  let kind: KeyKind

  /// Takes ownership of a handle and detects the kind of key. The handle is freed even when this throws.
  private init(taking handle: OpaquePointer) throws(KeyError) {
    do {
      kind = try Self.kind(of: handle)
    } catch {
      EVP_PKEY_free(handle)
      throw error
    }
    self.handle = handle
  }

  deinit { EVP_PKEY_free(handle) }

  /// A private key from its DER, which must be PKCS#8, SEC1 or PKCS#1 and not encrypted
  /// (`d2i_AutoPrivateKey`).
  convenience init(privateDER der: [UInt8]) throws(KeyError) {
    ERR_clear_error()
    let handle = Self.decode(der) { d2i_AutoPrivateKey(nil, &$0, $1) }
    guard let handle else { throw .invalid(OpenSSLError(operation: "d2i_AutoPrivateKey")) }
    try self.init(taking: handle)
    try check("EVP_PKEY_check", EVP_PKEY_check)
  }

  /// A public key from its SubjectPublicKeyInfo (`d2i_PUBKEY`).
  convenience init(publicDER der: [UInt8]) throws(KeyError) {
    ERR_clear_error()
    let handle = Self.decode(der) { d2i_PUBKEY(nil, &$0, $1) }
    guard let handle else { throw .invalid(OpenSSLError(operation: "d2i_PUBKEY")) }
    try self.init(taking: handle)
    try check("EVP_PKEY_public_check", EVP_PKEY_public_check)
  }

  /// A new key (`EVP_PKEY_generate`).
  convenience init(generating kind: KeyKind) throws(KeyError) {
    let (type, group): (String, String?) =
      switch kind {
      case .p256: ("EC", "P-256")
      case .p384: ("EC", "P-384")
      case .p521: ("EC", "P-521")
      case .ed25519: ("ED25519", nil)
      case .rsa: ("RSA", nil)
      }
    ERR_clear_error()
    let handle = type.withCString { type in
      // The context keeps the pointer to the type's name: it must live as long as the context.
      let context = EVP_PKEY_CTX_new_from_name(nil, type, nil)
      defer { EVP_PKEY_CTX_free(context) }
      var handle: OpaquePointer?
      var ready = EVP_PKEY_keygen_init(context) == 1
      if let group { ready = ready && EVP_PKEY_CTX_set_group_name(context, group) == 1 }
      if case .rsa(let bits) = kind {
        ready = ready && EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1
      }
      return ready && EVP_PKEY_generate(context, &handle) == 1 ? handle : nil
    }
    guard let handle else { throw .failed(OpenSSLError(operation: "EVP_PKEY_generate")) }
    try self.init(taking: handle)
  }

  /// PKCS#8, unencrypted (`OSSL_ENCODER_to_data` with the structure PrivateKeyInfo).
  func pkcs8() throws(KeyError) -> Secret {
    ERR_clear_error()
    let selection = OSSL_KEYMGMT_SELECT_KEYPAIR | OSSL_KEYMGMT_SELECT_ALL_PARAMETERS
    let secret: Secret? = "DER".withCString { type in
      "PrivateKeyInfo".withCString { structure in
        // The context keeps both pointers and reads them when it encodes: they must live until then.
        let context = OSSL_ENCODER_CTX_new_for_pkey(handle, selection, type, structure, nil)
        defer { OSSL_ENCODER_CTX_free(context) }
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard OSSL_ENCODER_to_data(context, &data, &count) == 1, let data else { return nil }
        defer { CRYPTO_clear_free(data, count, #fileID, #line) }
        return Secret(UnsafeRawBufferPointer(start: data, count: count))
      }
    }
    guard let secret else { throw .failed(OpenSSLError(operation: "OSSL_ENCODER_to_data")) }
    return secret
  }

  /// SubjectPublicKeyInfo of the public half (`i2d_PUBKEY`).
  func subjectPublicKeyInfo() throws(KeyError) -> [UInt8] {
    ERR_clear_error()
    var data: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(handle, &data)
    guard count > 0, let data else { throw .failed(OpenSSLError(operation: "i2d_PUBKEY")) }
    defer { CRYPTO_free(data, #fileID, #line) }
    return Array(UnsafeBufferPointer(start: data, count: Int(count)))
  }

  // MARK: -

  /// Runs a `d2i` function; nil if it fails or leaves bytes over. Callers have checked the shape, so no bytes
  /// should be left.
  private static func decode(
    _ der: [UInt8], _ d2i: (inout UnsafePointer<UInt8>?, Int) -> OpaquePointer?
  ) -> OpaquePointer? {
    der.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return nil }
      var cursor: UnsafePointer<UInt8>? = start
      guard let handle = d2i(&cursor, buffer.count) else { return nil }
      guard cursor == start + buffer.count else {
        EVP_PKEY_free(handle)
        return nil
      }
      return handle
    }
  }

  private func check(_ name: String, _ call: (OpaquePointer?) -> Int32) throws(KeyError) {
    ERR_clear_error()
    let context = EVP_PKEY_CTX_new_from_pkey(nil, handle, nil)
    defer { EVP_PKEY_CTX_free(context) }
    guard call(context) == 1 else { throw .invalid(OpenSSLError(operation: name)) }
  }

  private static func kind(of handle: OpaquePointer) throws(KeyError) -> KeyKind {
    if EVP_PKEY_is_a(handle, "RSA") == 1 {
      let bits = Int(EVP_PKEY_get_bits(handle))
      // Both bounds come before any arithmetic with the key: checking an oversized one takes minutes.
      guard bits >= 2048 else { throw .weak(bits: bits) }
      guard bits <= 8192 else { throw .tooLarge(bits: bits) }
      return .rsa(bits: bits)
    }
    if EVP_PKEY_is_a(handle, "ED25519") == 1 { return .ed25519 }
    guard EVP_PKEY_is_a(handle, "EC") == 1 else {
      throw .unsupported(type: EVP_PKEY_get0_type_name(handle).map { String(cString: $0) } ?? "unknown")
    }
    // Curves spelled out parameter by parameter have carried forged generators (CVE-2020-0601).
    var explicit: Int32 = 0
    if EVP_PKEY_get_int_param(handle, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &explicit) == 1,
      explicit != 0
    {
      throw .unsupported(type: "EC with explicit parameters")
    }
    // Write points uncompressed, whatever form they were read in.
    EVP_PKEY_set_utf8_string_param(handle, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed")
    switch groupName(of: handle) {
    case "prime256v1": return .p256
    case "secp384r1": return .p384
    case "secp521r1": return .p521
    case let other: throw .unsupported(type: "EC on \(other ?? "an unnamed curve")")
    }
  }

  private static func groupName(of handle: OpaquePointer) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { buffer in
      var length = 0
      guard EVP_PKEY_get_group_name(handle, buffer.baseAddress, buffer.count, &length) == 1 else {
        return nil
      }
      return String(cString: buffer.baseAddress!)
    }
  }
}
