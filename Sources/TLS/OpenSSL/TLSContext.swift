// The OpenSSL context that all sessions with one certificate share: versions, ciphers and protocol.

import COpenSSL

/// The state that all sessions with one certificate share: an `SSL_CTX`, made by `SSL_CTX_new`, freed by
/// `SSL_CTX_free` in `deinit`. Each session has a reference to it.
///
/// `@unchecked Sendable`: it is changed in `init` only. OpenSSL lets any number of threads make sessions from
/// one context, and `tickets` has its own lock.
final class TLSContext: @unchecked Sendable {
  let handle: OpaquePointer
  /// The ticket keys, kept alive for OpenSSL's ticket callback; nil for a context that only checks an
  /// identity.
  private let tickets: TicketKeys?

  /// Suites of TLS 1.2: ephemeral keys and authenticated encryption only (RFC 9325 §4.2).
  private static let suites = """
    ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
    ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305
    """
  /// Suites of TLS 1.3.
  private static let suites13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
  /// The groups for key agreement. With OpenSSL's larger groups, any client could make the server do ten
  /// times as much work (CVE-2002-20001).
  private static let groups = "X25519:P-256:P-384"
  /// OpenSSL's level for at least 112 bits of strength, whatever the machine's openssl.cnf says.
  private static let securityLevel: Int32 = 2

  /// Makes a context.
  ///
  /// - Parameter tickets: The keys that seal tickets; nil if OpenSSL makes its own.
  init(_ identity: TLSIdentity, tickets: TicketKeys?) throws(TLSFailure) {
    TLSFailure.forget()
    guard let handle = SSL_CTX_new(TLS_server_method()) else { throw TLSFailure("SSL_CTX_new") }
    self.handle = handle
    self.tickets = tickets
    SSL_CTX_set_security_level(handle, Self.securityLevel)
    try set("SSL_CTX_set_min_proto_version", SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION))
    try set("SSL_CTX_set_max_proto_version", SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_3_VERSION))
    try check("SSL_CTX_set_cipher_list", SSL_CTX_set_cipher_list(handle, Self.suites))
    try check("SSL_CTX_set_ciphersuites", SSL_CTX_set_ciphersuites(handle, Self.suites13))
    let isSet = Self.groups.withCString { groups in
      SSL_CTX_ctrl(handle, SSL_CTRL_SET_GROUPS_LIST, 0, UnsafeMutablePointer(mutating: groups))
    }
    try check("SSL_CTX_set1_groups_list", Int32(isSet))
    callgate_ssl_ctx_restrict(handle)
    SessionPort.countSteps(of: handle)
    // An idle session frees its record buffers, which saves 34 kB.
    SSL_CTX_ctrl(handle, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
    // OpenSSL reads ahead: it takes all records from the octets that were read already.
    SSL_CTX_ctrl(handle, SSL_CTRL_SET_READ_AHEAD, 1, nil)
    // Sessions resume with tickets only, so the server stores nothing for past clients.
    SSL_CTX_ctrl(handle, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
    SSL_CTX_set_timeout(handle, Int(TicketKeys.lifetime.components.seconds))
    SSL_CTX_set_alpn_select_cb(handle, ApplicationProtocol.select, nil)
    if let tickets { TicketKeys.attach(tickets, to: handle) }
    try use(identity)
  }

  deinit { SSL_CTX_free(handle) }

  private func use(_ identity: TLSIdentity) throws(TLSFailure) {
    for (index, certificate) in identity.chain.enumerated() {
      if index == 0 {
        try check("SSL_CTX_use_certificate", SSL_CTX_use_certificate(handle, certificate.handle))
      } else {
        // A client must already trust a self-signed root, so sending it is useless.
        guard !certificate.isSelfIssued else { continue }
        let status = SSL_CTX_ctrl(
          handle, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate.handle))
        try check("SSL_CTX_add1_chain_cert", Int32(status))
      }
    }
    try check("SSL_CTX_use_PrivateKey", SSL_CTX_use_PrivateKey(handle, identity.key))
    // Send the file's certificates only: never complete the chain from the machine's trust store.
    SSL_CTX_ctrl(handle, SSL_CTRL_MODE, Int(SSL_MODE_NO_AUTO_CHAIN), nil)
  }

  private func set(_ name: String, _ command: Int32, _ value: Int) throws(TLSFailure) {
    try check(name, Int32(SSL_CTX_ctrl(handle, command, value, nil)))
  }

  private func check(_ name: String, _ status: Int32) throws(TLSFailure) {
    guard status == 1 else { throw TLSFailure(name) }
  }
}

/// The only application protocol inside TLS, `http/1.1` (RFC 7301).
enum ApplicationProtocol {
  /// The protocol's name. OpenSSL keeps the pointer, so the name lives as long as the process. It is never
  /// written to.
  private nonisolated(unsafe) static let http11: UnsafeMutableBufferPointer<UInt8> = {
    let name = Array("\u{8}http/1.1".utf8)
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.count)
    _ = buffer.initialize(from: name)
    return buffer
  }()

  /// Selects `http/1.1` if the client offers it. A client that offers only other protocols (`h2`) gets the
  /// alert `no_application_protocol`.
  static let select: SSL_CTX_alpn_select_cb_func = { _, out, outLength, offered, offeredLength, _ in
    var chosen: UnsafeMutablePointer<UInt8>?
    let result = SSL_select_next_proto(
      &chosen, outLength, http11.baseAddress, UInt32(http11.count), offered, offeredLength)
    guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    out?.pointee = UnsafePointer(chosen)
    return SSL_TLSEXT_ERR_OK
  }
}
