// Reads the settings of Apple's App Attest: `attestation.app_attest`, and each app's `attested.app_attest`.

import Documents
import JOSE
package import Trust

extension Configuration {
  /// The settings for verifying App Attest attestations.
  package struct AppAttest: Sendable {
    /// The accepted environments and categories, and the root certificate.
    package var policy: AppAttestPolicy
    /// Whether the configuration names a root certificate of its own instead of Apple's.
    package let hasOwnRoot: Bool

    package init(policy: AppAttestPolicy, hasOwnRoot: Bool) {
      self.policy = policy
      self.hasOwnRoot = hasOwnRoot
    }

    /// The default settings: apps from the App Store and TestFlight.
    static let usual = AppAttest(
      policy: AppAttestPolicy(
        environments: [.production], categories: numbers([.appStore, .testflight]),
        root: AppAttestPolicy.appleRoot), hasOwnRoot: false)

    static func numbers(_ categories: [AppAttestPolicy.Category]) -> Set<UInt32> {
      Set(categories.map(\.number))
    }
  }
}

extension ConfigurationBuilder {
  private static let appAttestSection = "attestation.app_attest"

  /// Reads `attestation.app_attest`. Nil if the section is not a mapping, has an unknown key, or names an
  /// invalid root certificate.
  mutating func appAttest(_ node: DocumentNode) -> Configuration.AppAttest? {
    guard var members = open(node, path: Self.appAttestSection) else { return nil }
    let environments = members.values(Settings.appAttestEnvironments.key()) ?? [.production]
    let categories = members.values(Settings.appAttestCategories.key()) ?? [.appStore, .testflight]
    if environments.isEmpty {
      members.report(
        Refusal(
          at: "environments", "is empty, so no phone could attest", "list production or remove the line"))
    }
    if categories.isEmpty {
      members.report(
        Refusal(at: "categories", "is empty, so no phone could attest", "list app_store or remove the line"))
    }
    let placed = source(Settings.appAttestRoot, in: &members)
    let isKnown = close(&members, Self.appAttestSection + ".")
    var root: X509Certificate? = AppAttestPolicy.appleRoot
    if let placed {
      root = certificate(placed)
      problems.note(
        placed.place,
        "attestations are verified against this root instead of Apple's — remove it in production"
      )
    }
    guard isKnown, let root else { return nil }
    return Configuration.AppAttest(
      policy: AppAttestPolicy(
        environments: Set(environments), categories: Configuration.AppAttest.numbers(categories), root: root),
      hasOwnRoot: placed != nil)
  }

  private mutating func certificate(_ placed: PlacedSource) -> X509Certificate? {
    guard let bytes = certificates(in: placed.source, at: placed.place, name: placed.name) else {
      return nil
    }
    guard let certificate = X509Certificate(pem: bytes) else {
      problems.add(
        placed.place, placed.name,
        Refusal("names a \(placed.source.noun) without exactly one certificate", "give one as PEM"))
      return nil
    }
    return certificate
  }

  /// Reads `attested.app_attest` of an app. Nil if it has an unknown key, or no valid `app_id`.
  mutating func appAttestTerms(_ node: DocumentNode, path: String) -> AppAttestTerms? {
    guard var members = open(node, path: path) else { return nil }
    let id = members.value(Settings.attestedAppID.key())
    let least = members.value(Settings.attestedAtLeast.key())
    guard close(&members, "apps.*.attested.app_attest."), let id else { return nil }
    return AppAttestTerms(appID: id, atLeast: least)
  }
}

extension Settings {
  static let appAttestEnvironments = TypedSetting(
    Setting(
      "attestation.app_attest.environments[]", note: "`production`", example: "production",
      "Builds to accept: `production` (App Store, TestFlight) or `development` (Xcode)."),
    TextForm<AppAttestPolicy.Environment>.choice)
  static let appAttestCategories = TypedSetting(
    Setting(
      "attestation.app_attest.categories[]", note: "`app_store`, `testflight`", example: "app_store",
      "How Apple validated the app: `app_store`, `testflight`, `development`, `enterprise`. Phones before iOS 27 do not "
        + "report it and pass."), TextForm<AppAttestPolicy.Category>.choice)
  static let appAttestRoot = TypedSetting(
    Setting(
      "attestation.app_attest.root_file", .file, note: "Apple's", forTests: true,
      example: "/etc/callgate/root.pem",
      "Another root certificate than Apple's, as PEM, for tests."), NameText.path)
  static let attestedAppID = TypedSetting(
    Setting(
      "apps.*.attested.app_attest.app_id", required: "give the team's id and the bundle id, as in Xcode",
      example: "ABCDE12345.com.example.shop", "App on iOS: the team's id and the bundle id."), appID)
  static let attestedAtLeast = TypedSetting(
    Setting(
      "apps.*.attested.app_attest.at_least", note: "every build", example: "\"2.3.0\"",
      "Minimum build (CFBundleVersion). Phones that do not report it (iOS 26 and earlier) pass."),
    buildNumber)

  private static let appID: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let team = text.utf8.prefix { $0 != UInt8(ascii: ".") }
    guard team.count == 10, team.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }),
      (12...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw Refusal(
        "\(quoted(text)) is not an app on iOS",
        "write the ten characters of the team's id, a full stop and the bundle id")
    }
    return text
  }
  private static let buildNumber: @Sendable (String) throws(Refusal) -> BuildNumber = {
    text throws(Refusal) in
    guard let number = BuildNumber(text) else {
      throw Refusal(
        "\(quoted(text)) is not a build", "write one to four numbers with full stops between them, in quotes")
    }
    return number
  }
}
