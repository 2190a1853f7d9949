// The sandbox's sample app whose phones must attest that they are genuine, and the settings for it.

import Callers
import Documents
import Installations
import Trust

extension ConfigurationBuilder {
  /// Whether the sandbox adds its own attested app: if the file has neither `apps` nor `attestation`.
  var showsSampleAttestation: Bool {
    purpose == .sandbox && partial.sections["apps"] == nil && partial.sections[Self.attestationSection] == nil
  }

  /// The sample app. It accepts every type of attestation, and its phones may have a key.
  static let sampleAttestedApp = Configuration.App(
    id: "example-attested", callers: nil, scope: nil, delivery: .response, desk: nil,
    talkdeskPhoneNumbers: [], contextSchema: nil,
    installations: InstallationTerms(authorize: [.attestation], key: .optional), appCheck: nil,
    attested: AttestedTerms(
      mode: .enforce, perDay: Settings.usualAttestedPerDay, appIDs: ["1:123456789012:web:0123456789abcdef"],
      appAttest: AppAttestTerms(appID: "ABCDE12345.com.example.shop", atLeast: BuildNumber("2.3.0")),
      play: PlayIntegrityTerms(
        package: "com.example.shop", certificates: ["3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"],
        device: .device, licence: .any)),
    verificationCode: false)

  /// The settings of `attestation` for the sample app. The sandbox adds its own keys, root and account.
  static let sampleAttestation = (
    appCheck: Configuration.AppCheck(
      project: AppCheckProject(number: "123456789012", id: "callgate-sandbox"),
      keysURL: Settings.appCheckKeysURL, consumption: nil, consumes: false, place: .standard),
    appAttest: Configuration.AppAttest.usual,
    play: Configuration.PlayIntegrity(settings: nil, maximumAge: 300)
  )
}
