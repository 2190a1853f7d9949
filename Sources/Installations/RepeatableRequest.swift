// A first enrollment request, which the phone may repeat if the response was in doubt.

import Gate
import JOSE
import Store

/// A first enrollment request whose attestation works only once.
///
/// If the response is lost, the phone cannot send a new request: its challenge is used, and an installation
/// may exist whose secret the phone never received. So the secret and the `request_id` are derived from the
/// request's content and the store key. Repeating the same request then continues the same enrollment, on any
/// instance.
package struct RepeatableRequest: Sendable {
  /// The values derived from one store key.
  struct Values: Sendable {
    /// 32 bytes, base64url.
    let secret: String
    /// 24 bytes, base64url.
    let requestID: String
  }

  /// The values of each store key, the current key first. During a rotation, another instance may have
  /// answered with the other key.
  let values: [Values]
  /// The time at which the first request with this content arrived; nil if this is the first.
  let since: Instant?

  /// The secrets that the installation may have.
  var secrets: InstallationSecrets { InstallationSecrets(values.map(\.secret), since: since) }
}

/// The secrets that one request may give to an installation.
struct InstallationSecrets: Sendable {
  /// The secrets in base64url. A new installation gets the first one.
  private let texts: [String]
  /// SHA-256 of each secret, in the same order.
  let digests: [SHA256Digest]
  let since: Instant?

  init(_ texts: [String], since: Instant? = nil) {
    precondition(!texts.isEmpty)
    self.texts = texts
    digests = texts.map { SHA256Digest(of: Array($0.utf8)) }
    self.since = since
  }

  /// The secret of an installation; nil if it is not one of these.
  func text(of installation: Installation) -> String? {
    digests.firstIndex(of: installation.secret).map { texts[$0] }
  }
}
