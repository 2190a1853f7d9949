// Collects the answers for `callgate init`, first from its flags, then from questions on the terminal.

public import Configuration
import Documents
import JOSE
import Sealing

/// Finds the answers of `callgate init`: first in its flags, then by questions on a terminal.
///
/// Every answer becomes an entry of a configuration, which the configuration's own readers check. So
/// `callgate check` accepts every answer that is accepted here.
public struct SetupInterview {
  private let flags: SetupFlags
  private let files: ConfigurationFiles
  private let home: String?
  private var partial = PartialConfiguration()
  private var hours: [SetupHours.Entry]?
  private var timezone: String?
  private var tokens: SetupTokens?
  /// Remarks about the answers, one line each.
  public private(set) var notices: [String] = []

  /// The files that flags and answers name.
  public var sources: [String] {
    partial.entries.values.compactMap { if case .content(.file(let path)) = $0.content { path } else { nil } }
  }

  /// Starts with the flags.
  ///
  /// - Parameters:
  ///   - files: Reads the files that flags and answers name.
  ///   - home: The folder for `~` in an answer.
  public init(_ flags: SetupFlags, files: ConfigurationFiles, home: String?) {
    self.flags = flags
    self.files = files
    self.home = home
  }

  /// Collects all answers.
  /// - Parameter dialog: The dialog for questions; nil without a terminal. Then a missing required answer is
  ///   a mistake.
  public mutating func answers(asking dialog: (any SetupDialog)?) throws(SetupFailure) -> SetupAnswers {
    var mistakes = takeFlags()
    if dialog == nil { mistakes += missing() }
    guard mistakes.isEmpty else { throw .mistakes(mistakes.map(\.description)) }
    if let dialog { try askForTheRest(dialog) }
    return try complete()
  }

  // MARK: Flags

  /// Copies the flags into the configuration and returns everything that is wrong with them.
  private mutating func takeFlags() -> [DocumentProblem] {
    let texts = [
      (Settings.account.setting, "--account", flags.account?.lowercased()),
      (Settings.region.setting, "--region", flags.region?.lowercased()),
      (Settings.clientID.setting, "--client-id", flags.clientID),
      (Settings.keyID.setting, "--key-id", flags.keyID),
      (Settings.keyAlgorithm.setting, "--key-algorithm", flags.keyAlgorithm),
      (Settings.phoneNumber.setting, "--phone-number", isNumberLeftOut ? nil : flags.phoneNumber),
      (Settings.host.setting, "--listen", flags.listen ?? "127.0.0.1"),
    ]
    for (setting, flag, text) in texts {
      guard let text else { continue }
      partial.entries[setting] = PartialConfiguration.Entry(content: .text(text), place: .flag(flag))
    }
    let paths = [
      (Settings.clientSecret.setting, "--client-secret-file", flags.clientSecretFile),
      (Settings.privateKey.setting, "--private-key-file", flags.privateKeyFile),
      (Settings.password.setting, "--password-file", flags.passwordFile),
      // A problem with this file is reported under its path, because no flag named it.
      (Settings.storeKey.setting, flags.storeKeyFile ?? "", flags.storeKeyFile),
    ]
    for (setting, flag, path) in paths {
      guard let path else { continue }
      partial.entries[setting] = PartialConfiguration.Entry(
        content: .content(.file(path)), place: .flag(flag))
    }
    var problems = judged().problems.filter { !$0.place.isMissing }
    func judge(_ flag: String, _ step: () throws(Refusal) -> Void) {
      do throws(Refusal) { try step() } catch { problems.append(Self.problem(flag, error)) }
    }
    judge("--hours") { () throws(Refusal) in hours = try flags.hours.map(SetupHours.read) }
    timezone = flags.timezone
    judge("--tokens") { () throws(Refusal) in tokens = try flags.tokens.map(SetupTokens.read) }
    judge("--timezone") { () throws(Refusal) in _ = try timezone.map(SetupHours.readZone) }
    return problems
  }

  private var isNumberLeftOut: Bool { flags.phoneNumber?.lowercased() == "none" }

  /// A problem for each required answer that no flag gives.
  private func missing() -> [DocumentProblem] {
    var missing: [DocumentProblem] = []
    func require(_ isThere: Bool, _ flag: String, _ remedy: String) {
      if !isThere { missing.append(Self.problem(flag, Refusal("missing", remedy))) }
    }
    require(flags.account != nil, "--account", "name your Talkdesk account: acme for acme.talkdeskid.com")
    require(flags.clientID != nil, "--client-id", "give the id of your Talkdesk OAuth client")
    require(
      flags.clientSecretFile != nil || flags.privateKeyFile != nil,
      "--client-secret-file or --private-key-file",
      "name a file with the client's secret, or with its private key and --key-id")
    require(
      flags.privateKeyFile == nil || flags.keyID != nil, "--key-id",
      "give the id Talkdesk gave the private key")
    require(
      flags.hours == nil || hours?.isEmpty == true || timezone != nil, "--timezone",
      "give the time zone of the hours, such as America/New_York")
    return missing
  }

  private static func problem(_ flag: String, _ refusal: Refusal) -> DocumentProblem {
    DocumentProblem(.flag(flag), nil, refusal)
  }

  // MARK: Questions

  private mutating func askForTheRest(_ dialog: any SetupDialog) throws(SetupFailure) {
    try ask(
      dialog, Settings.account, "--account", "Talkdesk account (acme for acme.talkdeskid.com)", lowered: true)
    try ask(dialog, Settings.region, "--region", "Region: us, eu, ca or au", empty: "us", lowered: true)
    try ask(dialog, Settings.clientID, "--client-id", "Client id (Talkdesk: Builder, OAuth Clients)")
    try askForCredential(dialog)
    if partial.entries[Settings.privateKey.setting] != nil {
      try ask(dialog, Settings.keyID, "--key-id", "Key id (Talkdesk sends it with the key)")
    }
    if tokens == nil {
      tokens = try ask(
        dialog, "What will apps use tokens for? callback, sdk or both",
        empty: "callback"
      ) { text throws(Refusal) in text.isEmpty ? .callback : try SetupTokens.read(text) }
    }
    if !isNumberLeftOut {
      try ask(
        dialog, Settings.phoneNumber, "--phone-number",
        "Talkdesk phone number for callbacks, such as +14155550100", empty: "none")
    }
    if hours == nil {
      hours = try ask(
        dialog, "Opening hours, such as mon-fri 09:00-18:00", empty: "none", SetupHours.read)
    }
    if let hours, !hours.isEmpty, timezone == nil {
      timezone = try ask(
        dialog, "Time zone for these hours, such as America/New_York", empty: nil, SetupHours.readZone)
    }
  }

  /// Asks for a setting that no flag has set. If `empty` is not nil, an empty answer, or the text of `empty`,
  /// leaves the setting out.
  private mutating func ask<Value: Sendable>(
    _ dialog: any SetupDialog, _ setting: TypedSetting<Value>, _ flag: String, _ prompt: String,
    empty: String? = nil, lowered: Bool = false
  ) throws(SetupFailure) {
    guard partial.entries[setting.setting] == nil else { return }
    let text = try ask(dialog, prompt, empty: empty) { typed throws(Refusal) in
      guard !typed.isEmpty, typed.lowercased() != empty else { return "" }
      let text = lowered ? typed.lowercased() : typed
      _ = try setting.read(text)
      return text
    }
    guard !text.isEmpty else { return }
    partial.entries[setting.setting] = PartialConfiguration.Entry(content: .text(text), place: .flag(flag))
  }

  /// Repeats a question until the answer is valid. Shows the mistake in each invalid answer.
  private func ask<Value>(
    _ dialog: any SetupDialog, _ prompt: String, empty: String?, _ read: (String) throws(Refusal) -> Value
  ) throws(SetupFailure) -> Value {
    while true {
      let line = try answer(dialog, empty.map { "\(prompt) [\($0)]: " } ?? "\(prompt): ")
      do throws(Refusal) {
        guard !line.isEmpty || empty != nil else { throw Self.nothing }
        return try read(line)
      } catch {
        dialog.say(Self.explained(error))
      }
    }
  }

  private static let nothing = Refusal("an answer is required; press Ctrl-C to quit", "")

  /// A typed line without the blanks around it.
  private func answer(_ dialog: any SetupDialog, _ prompt: String) throws(SetupFailure) -> String {
    guard let line = dialog.ask(prompt) else { throw .ended }
    return Self.trimmed(line)
  }

  private static func trimmed(_ line: String) -> String {
    let start = line.drop(while: \.isWhitespace)
    return String(start.reversed().drop(while: \.isWhitespace).reversed())
  }

  /// Asks for the secret or the key, and says which one it was read as. Shows no part of it.
  private mutating func askForCredential(_ dialog: any SetupDialog) throws(SetupFailure) {
    let settings = [Settings.clientSecret.setting, Settings.privateKey.setting]
    guard settings.allSatisfy({ partial.entries[$0] == nil }) else { return }
    while true {
      let text = try dialog.hiding { () throws(SetupFailure) in try typedCredential(dialog) }
      do throws(Refusal) {
        guard !text.isEmpty else { throw Self.nothing }
        let (setting, entry) = try credential(text)
        partial.entries[setting] = entry
        let problems = judged().problems.filter { !$0.place.isMissing }
        guard problems.isEmpty else {
          for problem in problems { dialog.say(Self.explained(Self.refusal(problem))) }
          for setting in settings { partial.entries[setting] = nil }
          continue
        }
        return dialog.say("  Read \(credentialRead()).")
      } catch {
        dialog.say(Self.explained(error))
      }
    }
  }

  /// The line that was typed or, for pasted PEM, all its lines.
  private func typedCredential(_ dialog: any SetupDialog) throws(SetupFailure) -> String {
    var text = try answer(
      dialog, "Client secret, or the path of a file with the secret or private key (hidden): ")
    guard text.hasPrefix("-----BEGIN") else { return text }
    for _ in 0..<200 where !text.contains("-----END") { text += "\n" + (try answer(dialog, "")) }
    return text
  }

  /// The refusal for a problem. Another answer cannot fix a wrong `--key-algorithm`, so the remedy names the
  /// flag.
  private static func refusal(_ problem: DocumentProblem) -> Refusal {
    guard problem.place == .flag("--key-algorithm") else { return Refusal(problem.message, problem.remedy) }
    return Refusal(problem.message, "\(problem.remedy), or start again without --key-algorithm")
  }

  /// The kind of the credential, without a character of it.
  private func credentialRead() -> String {
    if let key = key() { return "a private key: \(key.kind), algorithm \(algorithm(for: key).rawValue)" }
    var builder = self.builder()
    let count = builder.secret(Settings.clientSecret)?.bytes.count ?? 0
    return if case .content = partial.entries[Settings.clientSecret.setting]?.content {
      "a client secret: \(count) characters, from the file"
    } else {
      "a client secret: \(count) characters, as typed"
    }
  }

  /// The setting and the entry for a typed credential: a key, a secret, or the path of a file with one of
  /// them.
  private func credential(_ text: String) throws(Refusal) -> (Setting, PartialConfiguration.Entry) {
    func entry(
      _ setting: Setting, _ flag: String, _ content: PartialConfiguration.Entry.Content
    ) -> (Setting, PartialConfiguration.Entry) {
      (setting, PartialConfiguration.Entry(content: content, place: .flag(flag)))
    }
    let (key, secret) = (Settings.privateKey.setting, Settings.clientSecret.setting)
    if Self.isKey(text) {
      return entry(key, "--private-key-file", .text(text))
    }
    var path = text
    if text.hasPrefix("~/"), let home { path = home + text.dropFirst() }
    do throws(ConfigurationFiles.Failure) {
      let content = try files.read(path, ConfigurationBuilder.maximumSecretBytes)
      return Self.isSecret(content.bytes)
        ? entry(secret, "--client-secret-file", .content(.file(path)))
        : entry(key, "--private-key-file", .content(.file(path)))
    } catch {
      guard error != .missing || ConfigurationBuilder.looksLikePath(Array(text.utf8)) else {
        return entry(secret, "--client-secret-file", .text(text))
      }
      // The path is not repeated: it may be a secret that looks like one.
      throw Refusal(
        "this looks like the path of a file that cannot be read: \(error)",
        "correct the path; if it is a client secret, put it into a file and start again with --client-secret-file"
      )
    }
  }

  /// Whether a text is a key, or the beginning of one.
  private static func isKey(_ text: String) -> Bool {
    // The Base64 of every private key, or of its PEM, begins like this, and no secret is that long.
    let isBase64 = ["MI", "LS0tLS1CRUdJT"].contains { text.hasPrefix($0) } && text.utf8.count >= 100
    return text.hasPrefix("-----BEGIN") || isBase64
  }

  /// Whether a file contains a secret: one printable line that is not a key in any form.
  private static func isSecret(_ content: [UInt8]) -> Bool {
    var line = content[...]
    if line.last == 0x0A { line.removeLast() }
    if line.last == 0x0D { line.removeLast() }
    guard !line.isEmpty, line.allSatisfy({ (0x20...0x7E).contains($0) }),
      !isKey(String(decoding: line, as: UTF8.self))
    else { return false }
    do throws(KeyError) {
      _ = try PrivateKey(Array(line))
      return false
    } catch {
      switch error {
      case .notBase64, .notDER: return true
      // A key, or a text that looks like one: the configuration's reader reports its mistake.
      case .empty, .tooLong, .publicKey, .privateKey, .otherThing, .encrypted, .severalBlocks,
        .textAroundPEM, .unterminatedPEM, .unknownLabel, .trailingData, .unsupported, .weak, .weakSecret,
        .tooLarge, .factorable, .invalid, .unfit, .failed, .invalidJWK:
        return false
      }
    }
  }

  /// An explanation below a question: indented, and within 80 columns.
  private static func explained(_ refusal: Refusal) -> String {
    let text = refusal.remedy.isEmpty ? refusal.message : "\(refusal.message) — \(refusal.remedy)"
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let line = lines.last, line.count + 1 + word.count <= 76 {
        lines[lines.count - 1] = "\(line) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines.map { "    \($0)" }.joined(separator: "\n")
  }

  // MARK: Judging

  /// The key that was given, if it can be used.
  private func key() -> PrivateKey? {
    var builder = self.builder()
    // The builder reports an invalid key.
    return builder.secret(Settings.privateKey, isDocument: true).flatMap { try? PrivateKey($0.bytes) }
  }

  /// The algorithm of a key: the stated one, or the first that works with it, or else ES256.
  private func algorithm(for key: PrivateKey) -> SignatureAlgorithm {
    var builder = self.builder()
    return builder.stated(Settings.keyAlgorithm) ?? Settings.talkdeskAlgorithms.first(where: key.fits)
      ?? .ES256
  }

  private func builder() -> ConfigurationBuilder {
    ConfigurationBuilder(
      partial: partial, purpose: .check, sources: ConfigurationSources(files: files), problems: ProblemList())
  }

  private struct Judgement {
    var talkdesk: Configuration.TalkdeskAccount
    var phoneNumber: String?
    var password: [UInt8]?
    var problems: [DocumentProblem]
    var notices: [ConfigurationNotice]
  }

  /// The configuration's values from all given answers.
  private func judged() -> Judgement {
    var stated = self
    if let key = key(), let place = partial.entries[Settings.privateKey.setting]?.place,
      partial.entries[Settings.keyAlgorithm.setting] == nil
    {
      stated.partial.entries[Settings.keyAlgorithm.setting] = PartialConfiguration.Entry(
        content: .text(algorithm(for: key).rawValue), place: place)
    }
    var builder = stated.builder()
    let talkdesk = builder.talkdesk()
    let number = builder.stated(Settings.phoneNumber)
    _ = builder.stated(Settings.host)
    let password = builder.secret(Settings.password)
    _ = builder.password(password)
    _ = builder.storeKeys()
    return Judgement(
      talkdesk: talkdesk, phoneNumber: number, password: password?.bytes, problems: builder.problems.sorted,
      notices: builder.problems.notices)
  }

  private mutating func complete() throws(SetupFailure) -> SetupAnswers {
    let judgement = judged()
    notices = judgement.notices.map(\.description)
    if flags.keyAlgorithm != nil, let place = partial.entries[Settings.clientSecret.setting]?.place {
      notices.append("--key-algorithm: not used, because a client secret is set (\(place))")
    }
    var hours: SetupHours?
    if let entries = self.hours, !entries.isEmpty, let timezone {
      do throws(Refusal) { hours = try SetupHours(entries, timezone: timezone) } catch {
        throw .mistakes([Self.problem("--timezone", error).description])
      }
    } else if timezone != nil {
      notices.append("--timezone: not used, because there are no opening hours")
    }
    var builder = self.builder()
    guard judgement.problems.isEmpty, let account = builder.stated(Settings.account),
      let listen = builder.stated(Settings.host),
      let upstream = judgement.talkdesk.upstream
    else { throw .mistakes(judgement.problems.map(\.description)) }
    if !listen.isLoopback {
      notices.append(
        "--listen: \(listen.host) is reached from other machines, and HTTP Basic sends passwords as clear text: let a proxy "
          + "speak https, or set listen.tls")
    }
    let givenKey = builder.secret(Settings.storeKey)?.bytes
    do throws(OpenSSLError) {
      func random() throws(OpenSSLError) -> Secret { Secret(Hex.encode(try RandomBytes.make(32))) }
      let password = if let given = judgement.password { Secret(given) } else { try random() }
      let storeKey =
        if let givenKey { Secret(givenKey) } else { Secret(try StoreKey.generate().exposedText()) }
      return SetupAnswers(
        account: account, region: judgement.talkdesk.region, clientID: upstream.clientID,
        authentication: upstream.authentication, phoneNumber: judgement.phoneNumber, hours: hours,
        tokens: tokens ?? .callback, listen: listen,
        password: password, adminToken: flags.hasAdmin ? try random() : nil, storeKey: storeKey)
    } catch {
      throw .generation("\(error)")
    }
  }
}
