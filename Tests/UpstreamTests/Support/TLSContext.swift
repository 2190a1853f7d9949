// A server-side TLS context for the scripted upstream.

import COpenSSL
import Certificates

/// A server-side TLS context that shows a certificate made for a test run.
///
/// `@unchecked Sendable`: the context is changed only while it is made; OpenSSL lets any number of threads
/// make sessions from it.
final class TLSContext: @unchecked Sendable {
  let pointer: OpaquePointer

  /// A server that shows a certificate. `onlyTLS11` makes it speak nothing newer, `only` that version of TLS alone.
  init(_ identity: TestIdentity, onlyTLS11: Bool = false, only version: Int? = nil) {
    guard let context = SSL_CTX_new(TLS_server_method()) else { preconditionFailure("SSL_CTX_new") }
    pointer = context
    // Keys and protocols that a client must refuse have to be shown first.
    SSL_CTX_set_security_level(context, 0)
    if onlyTLS11 {
      SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_1_VERSION), nil)
    }
    if let version {
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, version, nil)
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, version, nil)
    }
    show(identity)
  }

  /// Saves no sessions, so that clients can only resume theirs by ticket. Most servers behind a load balancer do so.
  func forgetSessions() { SSL_CTX_ctrl(pointer, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil) }

  /// Shows another certificate from now on, and knows its sessions still. While nobody makes a session from it.
  func show(_ identity: TestIdentity) {
    precondition(SSL_CTX_use_certificate(pointer, identity.certificate) == 1, "SSL_CTX_use_certificate")
    precondition(SSL_CTX_use_PrivateKey(pointer, identity.key) == 1, "SSL_CTX_use_PrivateKey")
  }

  deinit { SSL_CTX_free(pointer) }
}
