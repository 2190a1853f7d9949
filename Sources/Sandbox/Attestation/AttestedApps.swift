// The apps that the sandbox knows by name when it makes attestations.

import Texts

/// The apps that the sandbox knows by name when it makes attestations: those that the gateway on its port is
/// configured with.
public struct AttestedApps: Sendable {
  /// The Firebase project for App Check.
  let project: (number: String, id: String)
  /// The Firebase project for proofs of numbers.
  let numberProject: (number: String, id: String)
  /// The Firebase app id of each app, by its name.
  let firebase: [ExactText: String]
  /// Team and bundle of each app, by its name.
  let apple: [ExactText: String]
  /// Package and certificates of each app, by its name.
  let android: [ExactText: (package: String, certificates: [String])]

  /// - Parameters:
  ///   - project: The Firebase project for App Check. Nil for the sandbox's own.
  ///   - numbers: The Firebase project for proofs of numbers. Nil for the sandbox's own.
  ///   - firebase: The Firebase app id of each app that has one, by the app's name.
  ///   - apple: Team and bundle of each app that has them, by the app's name.
  ///   - android: Package and certificates of each app that has them, by the app's name.
  public init(
    project: (number: String, id: String)?, numbers: (number: String, id: String)? = nil,
    firebase: [String: String], apple: [String: String],
    android: [String: (package: String, certificates: [String])]
  ) {
    let own = ("123456789012", "callgate-sandbox")
    self.project = project ?? own
    numberProject = numbers ?? own
    self.firebase = Dictionary(uniqueKeysWithValues: firebase.map { (ExactText($0.key), $0.value) })
    self.apple = Dictionary(uniqueKeysWithValues: apple.map { (ExactText($0.key), $0.value) })
    self.android = Dictionary(uniqueKeysWithValues: android.map { (ExactText($0.key), $0.value) })
  }

  /// The apps of a sandbox without a gateway: none are configured.
  public static let sample = AttestedApps(project: nil, firebase: [:], apple: [:], android: [:])
}
