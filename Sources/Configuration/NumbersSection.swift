// Reads `numbers`: how callers prove that a number is theirs, the texts that customers agree to, and
// screening.

import Documents
package import Gate
package import Talkdesk
package import Trust

extension Configuration {
  /// The settings for customers' phone numbers: proofs, consent and screening.
  public struct Numbers: Sendable {
    /// The settings for verifying proofs of Firebase Phone Number Verification.
    package struct Firebase: Sendable {
      package let project: AppCheckProject
      /// The URL of the keys that verify proofs.
      package var keysURL: String
    }

    /// The JWT claims with a user's number. Nil if no claim counts.
    package var claim: NumberClaim?
    /// The settings for proofs in requests. Nil if requests cannot contain proofs.
    package var firebase: Firebase?
    /// How long the server remembers a proven number for its subject. Zero if it does not.
    package var remember: Duration
    /// The texts that customers agree to. Empty if requests cannot contain consents.
    package var consentTexts: [ConsentText]
    /// The settings for lookups of numbers at Talkdesk. Nil without lookups.
    package var screening: ScreeningSettings?

    package init(
      claim: NumberClaim?, firebase: Firebase?, remember: Duration, consentTexts: [ConsentText] = []
    ) {
      self.claim = claim
      self.firebase = firebase
      self.remember = remember
      self.consentTexts = consentTexts
    }

    package var consentNames: [String] { consentTexts.map(\.name) }

    /// The settings that rules need.
    package var terms: NumberTerms {
      NumberTerms(claim: claim, takesProofs: firebase != nil, consentTexts: consentTexts)
    }
  }
}

extension ConfigurationBuilder {
  static let numbersSection = "numbers"

  /// Reads `numbers`. Nil without the section, except in the sandbox, which accepts its own proofs.
  mutating func numbers() -> Configuration.Numbers? {
    guard let section = partial.sections[Self.numbersSection] else {
      return purpose == .sandbox ? Self.sampleNumbers : nil
    }
    guard var members = open(section, path: Self.numbersSection) else { return nil }
    let (proofs, consent) = (members.node("proofs"), members.node("consent"))
    let screened = members.node("screening")
    close(&members, Self.numbersSection + ".")
    var numbers = Configuration.Numbers(claim: nil, firebase: nil, remember: .seconds(30 * 86_400))
    if let proofs { readProofs(proofs, &numbers) }
    if let consent { readConsent(consent, &numbers) }
    if let screened { numbers.screening = screening(screened) }
    return numbers
  }

  private static let sampleNumbers = Configuration.Numbers(
    claim: nil,
    firebase: .init(
      project: AppCheckProject(number: "123456789012", id: "callgate-sandbox"),
      keysURL: Settings.numberKeysURL),
    remember: .seconds(30 * 86_400))

  private mutating func readProofs(_ node: DocumentNode, _ numbers: inout Configuration.Numbers) {
    let path = Self.numbersSection + ".proofs"
    guard var members = open(node, path: path) else { return }
    let (claim, firebase) = (members.node("claim"), members.node("firebase"))
    if let remember = members.value(Settings.numberRemember.key()) { numbers.remember = remember }
    if claim == nil, firebase == nil {
      members.report(
        Refusal("has no way to prove a number", "write claim: { name: phone_number } or firebase: { … }"))
    }
    close(&members, path + ".")
    if let claim, var own = open(claim, path: path + ".claim") {
      let name = own.value(Settings.numberClaim.key()) ?? "phone_number"
      let verified = own.value(Settings.numberVerified.key()) ?? "phone_number_verified"
      close(&own, path + ".claim.")
      numbers.claim = NumberClaim(name: name, verified: verified)
    }
    if let firebase, var own = open(firebase, path: path + ".firebase") {
      let number = own.value(Settings.numberProject.key())
      let id = own.value(Settings.numberProjectID.key())
      let url = own.value(Settings.numberKeys.key()) ?? Settings.numberKeysURL
      close(&own, path + ".firebase.")
      if let number, let id {
        numbers.firebase = .init(project: AppCheckProject(number: number, id: id), keysURL: url)
      }
    }
  }

  private mutating func readConsent(_ node: DocumentNode, _ numbers: inout Configuration.Numbers) {
    let path = Self.numbersSection + ".consent"
    guard var members = open(node, path: path) else { return }
    let texts = members.node("texts")
    close(&members, path + ".")
    guard let texts, case .mapping(let named) = texts.content, (1...100).contains(named.count) else {
      problems.add(
        (texts ?? node).place, path + ".texts",
        Refusal("has no texts, or more than 100", "write texts: { v1: \"the SHA-256 of its words\" }"))
      return
    }
    for member in named {
      do throws(Refusal) {
        let name = try NameText.identifier("a text's name")(member.name)
        guard let digest = member.value.text, !member.value.isNothing else {
          throw Refusal("is not a digest", "write the SHA-256 of the words that the app shows")
        }
        _ = try DigestText.form.read(digest)
        numbers.consentTexts.append(ConsentText(name: name, digest: digest))
      } catch {
        problems.add(member.value.place, "\(path).texts.\(member.name)", error)
      }
    }
  }

  /// Refuses rules about numbers whose settings are missing.
  mutating func judgeNumbers(_ policy: Policy, _ section: DocumentNode, _ numbers: Configuration.Numbers?) {
    guard case .list(let items) = section.content else { return }
    for (rule, item) in zip(policy.rules, items) {
      let missing: String
      switch rule.kind {
      case .ownNumber where numbers?.claim == nil && numbers?.firebase == nil:
        missing = "numbers.proofs, which says how a caller proves a number"
      case .consent where numbers?.consentTexts.isEmpty != false:
        missing = "numbers.consent, which has the texts that customers agree to"
      case .screened where partial.sections[Self.numbersSection]?["screening"] == nil:
        missing = "numbers.screening, which says what is asked about a number"
      default: continue
      }
      problems.add(
        item.place(of: "kind"), "rule \(quoted(rule.name)).kind",
        Refusal("needs \(missing)", "add it, or remove the rule"))
    }
  }
}

extension Configuration {
  /// Whether callers can prove that a number is theirs.
  package var provesNumbers: Bool { numbers?.claim != nil || numbers?.firebase != nil }

  /// Makes the server trust the sandbox's keys for proofs of numbers, unless the configuration names another
  /// URL of keys.
  package mutating func useKeysOfNumberProofs(at url: String) {
    if numbers?.firebase?.keysURL == Settings.numberKeysURL { numbers?.firebase?.keysURL = url }
  }
}

extension Settings {
  /// The URL at which Google publishes the keys of Firebase Phone Number Verification.
  static let numberKeysURL = "https://fpnv.googleapis.com/v1beta/jwks"

  static let numberClaim = TypedSetting(
    Setting(
      "numbers.proofs.claim.name", default: "phone_number", example: "phone_number",
      "Claim with the user's number in a JWT: its whole name, or a path with dots (unless it has `:` or "
        + "`/`)."),
    NameText.visible("a claim's name"))
  static let numberVerified = TypedSetting(
    Setting(
      "numbers.proofs.claim.verified", default: "phone_number_verified", example: "phone_number_verified",
      "Claim that is `true` if the issuer verified the number. Empty: the number alone is enough."),
    TextForm<String> { $0 })
  static let numberProject = TypedSetting(
    Setting(
      "numbers.proofs.firebase.project_number",
      required: "give the project's number, as the Firebase console shows it", example: "\"123456789012\"",
      "Number of the Firebase project that verifies phone numbers."),
    projectNumber)
  static let numberProjectID = TypedSetting(
    Setting(
      "numbers.proofs.firebase.project_id",
      required: "give the project's id, as the Firebase console shows it", example: "shop-prod",
      "The id of the same project."), NameText.visible("a project's id"))
  static let numberKeys = TypedSetting(
    Setting(
      "numbers.proofs.firebase.keys_url", note: "`\(numberKeysURL)`", example: numberKeysURL,
      "The URL of the keys that verify these tokens."), URLText.complete)
  static let numberRemember = TypedSetting(
    Setting(
      "numbers.proofs.remember", default: "30d", example: "30d",
      "How long a number stays proven for its user or installation: at most 400 days. `0`: prove it each "
        + "time."), numberMemory)
  /// A duration of at most 400 days. A bare `0` is accepted too.
  static let numberMemory = TextForm<Duration> { text throws(Refusal) in
    try TextForm.duration(.zero ... .seconds(400 * 86_400)).read(text == "0" ? "0s" : text)
  }
  static let consentText = TypedSetting(
    Setting(
      "numbers.consent.texts.*", example: "\"" + String(repeating: "0", count: 60) + "cafe\"",
      "SHA-256 in lower-case hex of a text that customers agree to, under the name that apps send."),
    DigestText.form)
}
