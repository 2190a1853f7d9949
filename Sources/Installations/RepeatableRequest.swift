// A first request for an installation that may be repeated where its answer was in doubt.

import Gate
import JOSE
import Store

/// A first request for an installation whose attestation is good once.
///
/// If the answer is in doubt, the phone can make no other request: its challenge is used, and with the installation that may exist goes a
/// secret that nobody has. So secret and `request_id` follow from the content of the request and the store key. The same request then is
/// the same enrollment, at whatever instance.
package struct RepeatableRequest: Sendable {
  /// By one store key.
  struct Values: Sendable {
    /// 32 bytes, base64url.
    let secret: String
    /// 24 bytes, base64url.
    let requestID: String
  }

  /// By the current store key first. During a rotation, another instance may have answered by the other one.
  let values: [Values]
  /// When the first request with this content came; nil for the first one.
  let since: Instant?

  /// The secrets that the installation may have.
  var secrets: InstallationSecrets { InstallationSecrets(values.map(\.secret), since: since) }
}

/// The secrets that one request may give to an installation.
struct InstallationSecrets: Sendable {
  /// Base64url. The first one is for a new installation.
  private let texts: [String]
  /// Their SHA-256, in the same order.
  let digests: [SHA256Digest]
  let since: Instant?

  init(_ texts: [String], since: Instant? = nil) {
    precondition(!texts.isEmpty)
    self.texts = texts
    digests = texts.map { SHA256Digest(of: Array($0.utf8)) }
    self.since = since
  }

  /// The secret of an installation; nil if it is none of these.
  func text(of installation: Installation) -> String? {
    digests.firstIndex(of: installation.secret).map { texts[$0] }
  }
}
