// The Google service account by which a gateway sends notices through the emulated FCM.

import JOSE
import JSON

/// A service account of the emulated Firebase project.
struct ServiceAccount: Sendable {
  static let projectID = "callgate-sandbox"
  static let clientEmail = "callgate@sandbox.example"

  let keyID: String
  let publicKey: PublicKey
  /// PKCS#8 PEM.
  let privateKey: Secret

  /// Makes an account with a key as long as Google's.
  init() throws(KeyError) {
    let key = try PrivateKey.generate(for: .RS256, rsaBits: 2048)
    publicKey = key.publicKey
    privateKey = try key.pem()
    keyID = String(publicKey.fingerprint.prefix(32))
  }

  /// The file that the Firebase console gives.
  ///
  /// - Parameter tokenURL: The emulator's token endpoint for Google.
  func file(tokenURL: String) -> [UInt8] {
    let object: JSONObject = [
      "type": "service_account", "project_id": .string(Self.projectID), "private_key_id": .string(keyID),
      "private_key": .string(privateKey.exposedString()), "client_email": .string(Self.clientEmail),
      "token_uri": .string(tokenURL),
    ]
    return object.serialized()
  }
}
