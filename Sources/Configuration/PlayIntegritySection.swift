// Reads the settings of Google's Play Integrity: `attestation.play_integrity`, and `attested.play` of each
// app.

package import AskingGoogle
import Callers
import Documents
import JOSE
package import Notices
import Trust

extension Configuration {
  /// The settings for decoding Play Integrity tokens.
  package struct PlayIntegrity: Sendable {
    /// The URLs of Google's API and this server's account there. Nil if no secret is opened. In the sandbox
    /// without a configured account, nil until the sandbox adds its own.
    package var settings: PlayIntegritySettings?
    /// The maximum age of a verdict, in seconds.
    package let maximumAge: Int64
  }

  /// Whether any app accepts Play Integrity tokens.
  package var takesPlayIntegrity: Bool { apps.contains { $0.attested?.play != nil } }

  /// Uses the sandbox's emulated Google to decode Play Integrity tokens and to consume App Check tokens. A
  /// service account in the configuration takes precedence.
  package mutating func useGoogle(of account: ServiceAccount, at url: String) {
    if play?.settings == nil { play?.settings = PlayIntegritySettings(account, url: url) }
    if let setting = appCheck, setting.consumes, setting.consumption == nil {
      appCheck?.consumption = AppCheckConsumption(account, project: setting.project.number, url: url)
    }
  }
}

extension ConfigurationBuilder {
  private static let playSection = "attestation.play_integrity"

  /// Reads `attestation.play_integrity`. Nil if the section is not a mapping, has an unknown key, or has no
  /// valid service account where one is required.
  mutating func playIntegrity(_ node: DocumentNode) -> Configuration.PlayIntegrity? {
    guard var members = open(node, path: Self.playSection) else { return nil }
    let placed = source(Settings.playAccount, in: &members)
    let maximumAge = members.value(Settings.playMaximumAge.key()) ?? .seconds(300)
    let url = members.value(Settings.playURL.key())
    let tokenURL = members.value(Settings.playTokenURL.key())
    guard close(&members, Self.playSection + ".") else { return nil }
    let age = maximumAge.components.seconds
    guard let account = googleAccount(placed, of: node, Self.playSection, url: url, tokenURL: tokenURL) else {
      return nil
    }
    return .init(
      settings: account.map { PlayIntegritySettings($0, url: url, tokenURL: tokenURL) }, maximumAge: age)
  }

  /// Reads the service account that a section names.
  ///
  /// - Parameters:
  ///   - url: Another base URL of Google's API.
  ///   - tokenURL: Another token endpoint.
  /// - Returns: The outer optional is nil after a mistake. The inner one is nil if no secret is opened, or if
  ///   the sandbox uses its own account.
  mutating func googleAccount(
    _ placed: PlacedSource?, of section: DocumentNode, _ name: String, url: String?, tokenURL: String? = nil
  ) -> ServiceAccount?? {
    guard let placed else {
      guard purpose != .sandbox else { return .some(nil) }
      problems.add(
        section.place, name,
        Refusal("has no service_account_file", "name the file of a service account of Google Cloud"))
      return nil
    }
    guard purpose.opensListenerSecrets else { return .some(nil) }
    guard
      let content = secretBytes(placed.source, at: placed.place, name: placed.name, isDocument: true)
    else { return nil }
    do throws(NoticeSettingError) {
      let account = try ServiceAccount(parsing: content)
      if tokenURL == nil {
        do throws(Refusal) { _ = try URLText.endpoint(account.tokenURI) } catch {
          problems.add(
            placed.place, placed.name,
            Refusal("has a token_uri that \(error.message)", "get the file from Google Cloud again"))
          return nil
        }
      }
      guard purpose != .sandbox || url != nil else {
        problems.note(
          placed.place, "not used, because of --sandbox: without a url its tokens would leave this machine")
        return .some(nil)
      }
      return account
    } catch {
      problems.add(placed.place, placed.name, Refusal(error.problem, error.remedy))
      return nil
    }
  }

  /// Adds the problem that an app accepts Play Integrity tokens without a section for decoding them.
  mutating func needsPlayIntegrity(_ app: Configuration.App) {
    guard let place = partial.sections["apps"]?[app.id]?["attested"]?["play"]?.place else { return }
    problems.add(
      place, "apps.\(app.id).attested.play",
      Refusal(
        "needs a service account of Google, and there is none",
        "write attestation: { play_integrity: { service_account_file: … } }"))
  }

  /// Reads `attested.play` of an app.
  mutating func playTerms(_ node: DocumentNode, path: String) -> PlayIntegrityTerms? {
    guard var members = open(node, path: path) else { return nil }
    let package = members.value(Settings.attestedPackage.key())
    let certificates = members.values(Settings.attestedCertificates.key())
    let device = members.value(Settings.attestedDevice.key()) ?? .device
    let licence = members.value(Settings.attestedLicence.key()) ?? .any
    if members.has("certificates") ? certificates?.isEmpty == true : package != nil {
      members.report(
        Refusal(
          at: "certificates", "has no certificate, so no phone could attest",
          "list the SHA-256 of the app's signing certificates, from the Play Console, as base64url"))
    }
    guard close(&members, "apps.*.attested.play."), let package, let certificates else { return nil }
    return PlayIntegrityTerms(
      package: package, certificates: certificates, device: device, licence: licence)
  }
}

extension Settings {
  static let playAccount = TypedSetting(
    Setting(
      "attestation.play_integrity.service_account_file", .secret, example: "/run/secrets/play.json",
      "JSON service account whose project is linked in the Play Console. Turns on Play Integrity."),
    NameText.path)
  static let playMaximumAge = TypedSetting(
    Setting(
      "attestation.play_integrity.max_age", default: "5m", example: "5m",
      "Maximum age of a Play Integrity verdict: 10 seconds to 1 hour."),
    TextForm.duration(.seconds(10) ... .seconds(3600)))
  static let playURL = TypedSetting(
    Setting(
      "attestation.play_integrity.url", note: "`\(PlayIntegritySettings.usualURL)`",
      forTests: true, example: "http://localhost:9000", "Another base URL of Play Integrity's API, for tests."
    ),
    URLText.base)
  static let playTokenURL = TypedSetting(
    Setting(
      "attestation.play_integrity.token_url", note: "`token_uri` of the service account",
      forTests: true, example: "http://localhost:9000/token",
      "Another token endpoint of Google, for tests. It is the `aud` of assertions too."), URLText.endpoint)
  static let attestedPackage = TypedSetting(
    Setting(
      "apps.*.attested.play.package", required: "give the package's name, as in the Play Console",
      example: "com.example.shop", "App on Android: the name of its package."), packageName)
  static let attestedCertificates = TypedSetting(
    Setting(
      "apps.*.attested.play.certificates[]", note: "none; give at least one",
      example: "\"6a6a1474b5cbbb2b1aa57e0bc3aaaaaaaaaaaaaaaaA\"",
      "SHA-256 of each certificate that signs the app, as base64url."), certificate)
  static let attestedDevice = TypedSetting(
    Setting(
      "apps.*.attested.play.device", default: "MEETS_DEVICE_INTEGRITY", example: "MEETS_DEVICE_INTEGRITY",
      "Minimum device verdict: `MEETS_BASIC_INTEGRITY`, `MEETS_DEVICE_INTEGRITY` or `MEETS_STRONG_INTEGRITY`."
    ),
    TextForm<PlayIntegrityTerms.Device>.choice)
  static let attestedLicence = TypedSetting(
    Setting(
      "apps.*.attested.play.licence", default: "any", example: "any",
      "Whether the user must have the app from Google Play: `any` or `licensed`."),
    TextForm<PlayIntegrityTerms.Licence>.choice)

  /// A package's name: letters, digits and underscores between full stops, safe in the path of a URL.
  private static let packageName: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count > 1, text.utf8.count <= 255,
      parts.allSatisfy({ part in
        !part.isEmpty
          && part.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
              || $0 == UInt8(ascii: "_")
          }
      })
    else {
      throw Refusal("\(quoted(text)) is not a package's name", "write one such as com.example.shop")
    }
    return text
  }
  private static let certificate: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let bare = text.utf8.last == UInt8(ascii: "=") ? String(text.dropLast()) : text
    guard Base64URL.decode(bare)?.count == 32 else {
      throw Refusal(
        "\(quoted(text)) is not a SHA-256 as base64url",
        "convert the fingerprint of the Play Console: printf HEX | xxd -r -p | basenc --base64url")
    }
    return bare
  }
}
