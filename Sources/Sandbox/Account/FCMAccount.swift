// The Google service account by which a gateway sends notices through the emulated FCM.

import JOSE

/// A service account of the emulated Firebase project.
struct FCMAccount: Sendable {
  static let projectID = "callgate-sandbox"
  static let clientEmail = "callgate@sandbox.example"

  let keyID = Identifier.random()
  /// A key as long as Google's, made when it first signs.
  let signer = DeferredSigner { () throws(KeyError) in
    try Signer(key: .generate(for: .RS256, rsaBits: 2048), algorithm: .RS256)
  }
}
