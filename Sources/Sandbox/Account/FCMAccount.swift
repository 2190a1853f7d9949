// The Google service account with which a gateway sends push notifications through the emulated FCM.

import JOSE

/// A service account of the emulated Firebase project.
struct FCMAccount: Sendable {
  static let projectID = "callgate-sandbox"
  static let clientEmail = "callgate@sandbox.example"

  let keyID = Identifier.random()
  /// The account's RSA key, as long as Google's. It is generated when it is first needed.
  let signer = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .RS256, rsaBits: 2048), algorithm: .RS256)
  }
}
