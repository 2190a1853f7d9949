// A server-side TLS context for the scripted upstream.

import COpenSSL
import Certificates

/// A server-side TLS context that presents a certificate made for a test run. `@unchecked Sendable`: the
/// context is changed only while it is set up, and OpenSSL lets any number of threads start sessions from it.
///
/// `@unchecked Sendable`: the context is changed only while it is made; OpenSSL lets any number of threads
/// make sessions from it.
final class TLSContext: @unchecked Sendable {
  let pointer: OpaquePointer

  /// A server that presents a certificate. With `onlyTLS11` it speaks TLS 1.1 at most, with `only` a single
  /// version of TLS.
  init(_ identity: TestIdentity, onlyTLS11: Bool = false, only version: Int? = nil) {
    guard let context = SSL_CTX_new(TLS_server_method()) else { preconditionFailure("SSL_CTX_new") }
    pointer = context
    // The server must offer even the keys and protocols that a client has to refuse.
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

  /// Stops saving sessions, so that clients can only resume theirs by ticket, as with most servers behind a
  /// load balancer.
  func forgetSessions() { SSL_CTX_ctrl(pointer, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil) }

  /// Presents another certificate from now on, and still knows its sessions. Call it only while no session
  /// starts.
  func show(_ identity: TestIdentity) {
    precondition(SSL_CTX_use_certificate(pointer, identity.certificate) == 1, "SSL_CTX_use_certificate")
    precondition(SSL_CTX_use_PrivateKey(pointer, identity.key) == 1, "SSL_CTX_use_PrivateKey")
  }

  deinit { SSL_CTX_free(pointer) }
}
