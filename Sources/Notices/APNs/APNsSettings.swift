// The settings for APNs: the team's signing key, and the app that gets notifications.

import JOSE

/// The signing key for APNs, and the app that gets notifications.
package struct APNsSettings: Sendable {
  /// The APNs environment in which a device is registered. A device's token is valid in only one of the two.
  package enum Environment: String, CaseIterable, Sendable {
    case production
    case sandbox

    /// The environment's base URL.
    var base: String {
      switch self {
      case .production: "https://api.push.apple.com"
      case .sandbox: "https://api.sandbox.push.apple.com"
      }
    }
  }

  let signer: Signer
  let keyID: String
  let teamID: String
  /// The app's bundle id.
  package let topic: String
  /// The base URL of the API, without a slash at the end.
  let base: String

  /// Creates the settings. Throws an error that names the setting if a value is malformed.
  ///
  /// - Parameters:
  ///   - key: the content of the file `AuthKey_….p8` from Apple's developer account.
  ///   - keyID: the ten characters that Apple gave the key.
  ///   - teamID: the ten characters of the team.
  ///   - topic: the app's bundle id.
  ///   - environment: the environment in which the app's devices are registered.
  ///   - url: another base URL of the API, checked by the caller, for tests.
  package init(
    key: [UInt8], keyID: String, teamID: String, topic: String, environment: Environment = .production,
    url: String? = nil
  ) throws(NoticeSettingError) {
    do throws(KeyError) {
      signer = try Signer(key: PrivateKey(key), algorithm: .ES256)
    } catch {
      throw NoticeSettingError(
        "key_file", "cannot be used: \(error)",
        "name the file AuthKey_….p8 as Apple's developer account gave it")
    }
    guard Self.isAppleID(keyID) else {
      throw NoticeSettingError(
        "key_id", "is not a key id of ten characters A–Z and 0–9",
        "copy it from the name of the file AuthKey_….p8")
    }
    guard Self.isAppleID(teamID) else {
      throw NoticeSettingError(
        "team_id", "is not a team id of ten characters A–Z and 0–9",
        "copy it from Apple's developer account, under Membership")
    }
    guard Self.isBundleID(topic) else {
      throw NoticeSettingError(
        "topic", "is not a bundle id", "write the app's bundle id, such as com.example.shop")
    }
    self.keyID = keyID
    self.teamID = teamID
    self.topic = topic
    base = Self.withoutSlash(url ?? environment.base)
  }

  private static func isAppleID(_ text: String) -> Bool {
    text.utf8.count == 10
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
  }

  private static func isBundleID(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count)
      && text.utf8.allSatisfy { octet in
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
        default: false
        }
      }
  }

  private static func withoutSlash(_ url: String) -> String {
    url.utf8.last == UInt8(ascii: "/") ? String(url.dropLast()) : url
  }
}

extension APNsSettings: Equatable {
  /// Whether both have the same key, key id, team, app and base URL.
  package static func == (a: APNsSettings, b: APNsSettings) -> Bool {
    // Our text: ids of the configuration.
    a.signer.key.publicKey == b.signer.key.publicKey && a.keyID == b.keyID && a.teamID == b.teamID
      && a.topic == b.topic && a.base == b.base
  }
}
