// Builds the HTTP Basic header that authenticates an OAuth client by its secret.

import JOSE

/// HTTP Basic for OAuth clients: id and secret are form-encoded (RFC 6749 §2.3.1), then joined by a colon and
/// encoded in Base64 (RFC 7617 §2).
enum BasicAuthentication {
  /// The value of `Authorization`.
  static func value(clientID: String, secret: Secret) -> String {
    var pair: [UInt8] = []
    FormContent.encode(clientID.utf8, to: &pair)
    pair.append(0x3A)
    FormContent.encode(secret.exposedBytes(), to: &pair)
    return "Basic \(Base64.encode(pair))"
  }
}
