// Reads how apps prove that they are genuine: `attestation`, and each app's `app_check` and `attested`.

package import AskingGoogle
import Callers
package import Documents
import Installations
public import Trust

extension Configuration {
  /// The Firebase project whose App Check tokens are accepted.
  public struct AppCheck: Sendable {
    public let project: AppCheckProject
    /// The URL of the keys that verify the tokens.
    public package(set) var keysURL: String
    /// How tokens that enroll an installation are consumed. Nil if they are not, or if no secret is opened.
    /// In the sandbox without a configured account, nil until the sandbox adds its own.
    package var consumption: AppCheckConsumption?
    /// Whether tokens that enroll an installation must be consumed (`consume`).
    package let consumes: Bool
    /// The position of `attestation.app_check`.
    package let place: DocumentPlace
  }
}

extension ConfigurationBuilder {
  static let attestationSection = "attestation"
  private static let appCheckSection = "attestation.app_check"

  /// Reads `attestation`. A part is nil if it is missing or invalid. If an app accepts App Attest and that
  /// part is missing, its defaults apply. The sandbox's sample settings apply if `showsSampleAttestation` is
  /// true.
  ///
  /// - Parameter apps: All apps. Their terms decide which parts are required.
  mutating func attestation(_ apps: [Configuration.App]) -> (
    appCheck: Configuration.AppCheck?, appAttest: Configuration.AppAttest?, play: Configuration.PlayIntegrity?
  ) {
    let takesAppAttest = apps.contains { $0.attested?.appAttest != nil }
    guard let section = partial.sections[Self.attestationSection] else {
      if showsSampleAttestation { return Self.sampleAttestation }
      if let app = apps.first(where: \.takesAppCheck) { needsAppCheck(app) }
      if let app = apps.first(where: { $0.attested?.play != nil }) { needsPlayIntegrity(app) }
      return (nil, takesAppAttest ? .usual : nil, nil)
    }
    guard var members = open(section, path: Self.attestationSection) else { return (nil, nil, nil) }
    let node = members.node("app_check")
    let appAttestNode = members.node("app_attest")
    let playNode = members.node("play_integrity")
    close(&members, Self.attestationSection + ".")
    if node == nil, appAttestNode == nil, playNode == nil {
      problems.add(
        section.place, Self.attestationSection,
        Refusal("has no way of attestation", "write app_check: { project_number: …, project_id: … }"))
    } else if node == nil, let app = apps.first(where: \.takesAppCheck) {
      needsAppCheck(app)
    }
    let appAttest = appAttestNode.map { self.appAttest($0) } ?? (takesAppAttest ? .usual : nil)
    if playNode == nil, let app = apps.first(where: { $0.attested?.play != nil }) { needsPlayIntegrity(app) }
    return (node.flatMap { self.appCheck($0, apps) }, appAttest, playNode.flatMap { playIntegrity($0) })
  }

  private mutating func appCheck(_ node: DocumentNode, _ apps: [Configuration.App]) -> Configuration.AppCheck?
  {
    guard var own = open(node, path: Self.appCheckSection) else { return nil }
    let number = own.value(Settings.appCheckNumber.key())
    let id = own.value(Settings.appCheckProject.key())
    let url = own.value(Settings.appCheckKeys.key()) ?? Settings.appCheckKeysURL
    let consumes = own.value(Settings.appCheckConsume.key()) ?? false
    let placed = source(Settings.appCheckAccount, in: &own)
    let base = own.value(Settings.appCheckURL.key())
    guard close(&own, Self.appCheckSection + "."), let number, let id else { return nil }
    var consumption: AppCheckConsumption?
    if consumes {
      guard let account = googleAccount(placed, of: node, Self.appCheckSection, url: base) else { return nil }
      consumption = account.map { AppCheckConsumption($0, project: number, url: base) }
    } else if let placed {
      problems.note(placed.place, "has no effect without consume: true")
    }
    noteForeignIDs(apps, project: number)
    if !apps.contains(where: \.takesAppCheck) {
      problems.note(
        node.place,
        "no app requires App Check tokens — give an app app_check: audit and attested: { app_check: [its Firebase app ids] }"
      )
    }
    return Configuration.AppCheck(
      project: AppCheckProject(number: number, id: id), keysURL: url, consumption: consumption,
      consumes: consumes, place: node.place)
  }

  /// Notes Firebase app ids that no app of this project can have. Their form is `1:PROJECT:PLATFORM:HEX`.
  private mutating func noteForeignIDs(_ apps: [Configuration.App], project: String) {
    for app in apps {
      guard let place = partial.sections["apps"]?[app.id]?["attested"]?["app_check"]?.place else { continue }
      for id in app.firebaseAppIDs {
        let parts = id.split(separator: ":", omittingEmptySubsequences: false)
        let isWhole =
          parts.count == 4 && parts[0] == "1" && ["ios", "android", "web"].contains(parts[2])
          && !parts[3].isEmpty && parts[3].allSatisfy(\.isHexDigit)
        let fault: String? =
          if !isWhole {
            "is not a Firebase app id, such as \(Settings.attestedAppCheck.setting.example)"
          } else if parts[1] != project {
            "is an app of another project than attestation.app_check.project_number, \(project)"
          } else {
            nil
          }
        if let fault {
          problems.note(
            place, "apps.\(app.id).attested.app_check: \(quoted(id)) \(fault): no token will have it")
        }
      }
    }
  }

  private mutating func needsAppCheck(_ app: Configuration.App) {
    let node = partial.sections["apps"]?[app.id]
    guard let place = (node?["app_check"] ?? node?["attested"])?.place else { return }
    problems.add(
      place, "apps.\(app.id).\(app.appCheck == nil ? "attested" : "app_check")",
      Refusal(
        "needs the Firebase project, and there is none",
        "write attestation: { app_check: { project_number: …, project_id: … } }"))
  }

  /// Reads `app_check` and `attested` of an app: the terms for its requests, and for the first request of
  /// each enrollment. Terms are nil if their mode is `off`, or if they are invalid.
  mutating func trust(
    _ members: inout MappingReader, _ installations: InstallationTerms?
  ) -> (appCheck: AppCheckTerms?, attested: AttestedTerms?) {
    let mode = members.value(Settings.appCheckMode.key()) ?? .off
    var ids: [String] = []
    var attestedMode = AttestationMode.off
    var perDay = Settings.usualAttestedPerDay
    var appAttest: AppAttestTerms?
    var play: PlayIntegrityTerms?
    var takesOthers = false
    let node = members.node("attested")
    if let node, var attested = open(node, path: members.name(of: "attested")) {
      ids = attested.values(Settings.attestedAppCheck.key()) ?? []
      attestedMode = attested.value(Settings.attestedMode.key()) ?? .off
      perDay = attested.value(Settings.attestedPerDay.key()) ?? perDay
      if let own = attested.node("app_attest") {
        takesOthers = true
        appAttest = appAttestTerms(own, path: attested.name(of: "app_attest"))
      }
      if let own = attested.node("play") {
        takesOthers = true
        play = playTerms(own, path: attested.name(of: "play"))
      }
      if attestedMode != .off, installations == nil, !members.has("installations") {
        attested.report(
          Refusal(
            at: "mode", "is for installations, and this app has none",
            "add installations to this app, or remove this line"))
      }
      close(&attested, "apps.*.attested.")
    }
    if installations?.isByAttestation == true, attestedMode != .enforce {
      members.report(
        Refusal(
          at: "installations", "has attestation alone in authorize, which needs attested: { mode: enforce }",
          "set the mode, or let a user or an operator authorize, too"))
    }
    guard mode != .off || attestedMode != .off else {
      if !ids.isEmpty || takesOthers, !members.has("app_check"), node?["mode"] == nil, let node {
        problems.note(
          node.place,
          "\(members.name(of: "attested")) has no effect without a mode in it, or app_check: audit or enforce beside it"
        )
      }
      return (nil, nil)
    }
    guard !ids.isEmpty || mode == .off && takesOthers else {
      members.report(
        mode == .off
          ? Refusal(
            at: "attested", "does not accept attestations",
            "add app_check: [its Firebase app ids], app_attest: { app_id: … } or play: { package: … } to attested"
          )
          : Refusal(
            at: "app_check", "needs the Firebase app ids that are this app",
            "add attested: { app_check: [\(Settings.attestedAppCheck.setting.example)] }"))
      return (nil, nil)
    }
    return (
      mode == .off ? nil : AppCheckTerms(mode: mode, appIDs: ids),
      attestedMode == .off
        ? nil
        : AttestedTerms(mode: attestedMode, perDay: perDay, appIDs: ids, appAttest: appAttest, play: play)
    )
  }
}

extension Configuration.App {
  /// Whether the app's App Check tokens are verified, in requests or in enrollments.
  package var takesAppCheck: Bool { appCheck != nil || attested?.appCheck != nil }
  /// The app's Firebase app ids; empty if its App Check tokens are not verified.
  package var firebaseAppIDs: [String] { appCheck?.appIDs ?? attested?.appCheck?.appIDs ?? [] }
}

extension Settings {
  /// The URL of Google's keys for App Check tokens.
  static let appCheckKeysURL = "https://firebaseappcheck.googleapis.com/v1/jwks"

  static let appCheckNumber = TypedSetting(
    Setting(
      "attestation.app_check.project_number",
      required: "give the project's number, as the Firebase console shows it",
      example: "\"123456789012\"",
      "Number of the Firebase project."),
    projectNumber)
  static let appCheckProject = TypedSetting(
    Setting(
      "attestation.app_check.project_id", required: "give the project's id, as the Firebase console shows it",
      example: "shop-prod", "Id of the same project."), NameText.visible("a project's id"))
  static let appCheckKeys = TypedSetting(
    Setting(
      "attestation.app_check.keys_url", note: "`\(appCheckKeysURL)`", example: appCheckKeysURL,
      "URL of the keys that verify these tokens."), URLText.complete)
  static let appCheckConsume = TypedSetting(
    Setting(
      "attestation.app_check.consume", default: "false", example: "true",
      "Whether Google consumes each token that enrolls an installation, so that it works once. Apps then need "
        + "limited-use tokens."), .boolean)
  static let appCheckAccount = TypedSetting(
    Setting(
      "attestation.app_check.service_account_file", .secret, example: "/run/secrets/firebase.json",
      "JSON service account that may verify App Check tokens, for `consume`."), NameText.path
  )
  static let appCheckURL = TypedSetting(
    Setting(
      "attestation.app_check.url", note: "`\(AppCheckConsumption.usualURL)`",
      forTests: true, example: "http://localhost:9000",
      "Another base URL of App Check's API, for tests."), URLText.base)
  static let appCheckMode = TypedSetting(
    Setting(
      "apps.*.app_check", default: "off", example: "audit",
      "Whether each request needs an App Check token in `X-Firebase-AppCheck`: `off`, `audit` (counts what `enforce` "
        + "would refuse) or `enforce`."), TextForm<AttestationMode>.choice)
  static let usualAttestedPerDay = 1000

  static let attestedMode = TypedSetting(
    Setting(
      "apps.*.attested.mode", default: "off", example: "audit",
      "Whether a new installation needs an attestation: `off`, `audit` or `enforce`."),
    TextForm<AttestationMode>.choice)
  static let attestedPerDay = TypedSetting(
    Setting(
      "apps.*.attested.per_day", default: "\(usualAttestedPerDay)", example: "1000",
      "How many installations attestation alone may approve in a day (UTC): 1 to 1,000,000."),
    .number(1...1_000_000, of: "a number of installations"))
  static let attestedAppCheck = TypedSetting(
    Setting(
      "apps.*.attested.app_check[]", note: "none", example: "\"1:123456789012:ios:0123456789abcdef\"",
      "Firebase app ids that may pass. Other apps of the project get App Check tokens too."
    ),
    NameText.visible("a Firebase app id"))

  static let projectNumber: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw Refusal("\(quoted(text)) is not a project's number", "copy the digits from the Firebase console")
    }
    return text
  }
}
