// Reads and checks the `talkdesk` section: account, region, credentials and URLs.

import Documents
import JOSE
import Talkdesk
import Tokens

extension ConfigurationBuilder {
  /// Reads `talkdesk`. A server does not need it if all its `apps` have chat desks.
  package mutating func talkdesk(for apps: [Configuration.App] = []) -> Configuration.TalkdeskAccount {
    let region = value(Settings.region)
    let scope = value(Settings.scope)
    let account = stated(Settings.account)
    let tokenURL = stated(Settings.tokenURL)
    let apiURL = stated(Settings.apiURL)
    let audience = stated(Settings.audience)
    let clientID = stated(Settings.clientID)
    let keyID = stated(Settings.keyID)
    let algorithm = value(Settings.keyAlgorithm)
    let nextKeyID = stated(Settings.nextKeyID)
    let nextClientID = stated(Settings.nextClientID)
    let nextAlgorithm = stated(Settings.nextKeyAlgorithm)
    guard purpose.needsCredential else {
      noteUnusedCredential()
      return Configuration.TalkdeskAccount(region: region, scope: scope, upstream: nil)
    }

    let hasOnlyDesks = !apps.isEmpty && apps.allSatisfy { $0.desk != nil }
    let isSilent =
      ![
        Settings.account.setting, Settings.clientID.setting, Settings.privateKey.setting,
        Settings.clientSecret.setting, Settings.signer.vault.setting,
      ]
      .contains { partial.entries[$0] != nil } && !isStated(Settings.tokenURL) && !isStated(Settings.apiURL)
    if hasOnlyDesks, isSilent, purpose != .token {
      return Configuration.TalkdeskAccount(region: region, scope: scope, upstream: nil)
    }
    if !isStated(Settings.account), !isStated(Settings.tokenURL) {
      missing(Settings.account, "set it to your Talkdesk account's name: acme for acme.talkdeskid.com")
    }
    if !isStated(Settings.clientID) {
      missing(Settings.clientID, "set it to the id of your Talkdesk OAuth client")
    }
    let authentication = authentication(
      keyID: keyID, algorithm: algorithm, next: (nextKeyID, nextClientID, nextAlgorithm))
    noteUnconfirmedHost(region)
    let endpoints =
      tokenURL.map { TalkdeskEndpoints(tokenURL: $0, region: region, audience: audience, apiBase: apiURL) }
      ?? account.map { TalkdeskEndpoints(account: $0, region: region, audience: audience, apiBase: apiURL) }
    guard let endpoints, let clientID, let authentication else {
      return Configuration.TalkdeskAccount(region: region, scope: scope, upstream: nil)
    }
    let upstream = Configuration.Upstream(
      tokenURL: endpoints.tokenURL, apiURL: endpoints.apiBase, audience: endpoints.audience,
      clientID: clientID,
      authentication: authentication)
    return Configuration.TalkdeskAccount(region: region, scope: scope, upstream: upstream)
  }

  /// Notes that Talkdesk does not document the API host of the account's region.
  private mutating func noteUnconfirmedHost(_ region: Region) {
    guard !region.apiHostIsConfirmed, !isStated(Settings.apiURL), let place = place(of: Settings.region)
    else { return }
    problems.note(
      place,
      "Talkdesk's pages do not name this region's API host; \(region.apiBase) is used — set TD_API_URL if it differs"
    )
  }

  private func isStated<Value>(_ typed: TypedSetting<Value>) -> Bool { partial.entries[typed.setting] != nil }

  /// Notes that the sandbox does not use Talkdesk's credential, because it talks to its own emulator.
  private mutating func noteUnusedCredential() {
    guard purpose == .sandbox else { return }
    let unused = [
      Settings.clientID.setting, Settings.privateKey.setting, Settings.clientSecret.setting,
      Settings.signer.vault.setting,
    ].compactMap { partial.entries[$0]?.place.description }
    guard !unused.isEmpty else { return }
    problems.note(.flag("--sandbox"), "Talkdesk's credential is not used (\(unused.joined(separator: ", ")))")
  }

  private mutating func missing<Value>(_ typed: TypedSetting<Value>, _ remedy: String) {
    missing([typed], remedy)
  }

  /// Adds the problem that none of these settings is set.
  private mutating func missing<Value>(_ typed: [TypedSetting<Value>], _ remedy: String) {
    let settings = typed.map(\.setting)
    let isEmpty = settings.contains { $0.variable.map(partial.emptyVariables.contains) ?? false }
    // A missing setting beside a misspelled key is the same mistake.
    if !isEmpty, settings.contains(where: { $0.path.map(partial.meant.contains) ?? false }) { return }
    // An operator who writes a file looks for the YAML key.
    let usesFile =
      partial.entries[Settings.config.setting] != nil || partial.entries[Settings.configText.setting] != nil
    let names = settings.map { setting in
      let variable = setting.variable ?? setting.name
      return if usesFile, let path = setting.path { "\(path) (\(variable))" } else { variable }
    }
    problems.add(
      .setting(names.joined(separator: " or ")), nil,
      Refusal(isEmpty ? "missing (set but empty)" : "missing", remedy))
  }

  private mutating func authentication(
    keyID: String?, algorithm: SignatureAlgorithm,
    next: (keyID: String?, clientID: String?, algorithm: SignatureAlgorithm?)
  ) -> Configuration.ClientAuthentication? {
    let keyPlace = place(of: Settings.privateKey) ?? place(of: Settings.signer)
    let secretPlace = place(of: Settings.clientSecret)
    if let keyPlace, let secretPlace {
      problems.add(
        secretPlace, Settings.clientSecret.setting.name,
        Refusal(
          "a \(place(of: Settings.privateKey) == nil ? "signer" : "private key") is set too (\(keyPlace))",
          "keep the one Talkdesk gave you, and remove the other"))
    }
    if secretPlace == nil, keyPlace == nil {
      missing(
        [Settings.clientSecret, Settings.privateKey],
        "set exactly one: the secret of your account's own OAuth client, or the key of an AppConnect installation and its "
          + "TD_KEY_ID")
      return nil
    }
    if keyPlace != nil, secretPlace == nil, !isStated(Settings.keyID) {
      missing(Settings.keyID, "set it to the id Talkdesk gave the key")
    }
    if let secretPlace, keyPlace == nil {
      if let place = place(of: Settings.keyID) {
        problems.note(place, "not used, because a client secret is set (\(secretPlace))")
      }
      if let place = place(of: Settings.nextKey) ?? place(of: Settings.nextKeyID)
        ?? place(of: Settings.nextClientID) ?? place(of: Settings.nextSigner)
      {
        problems.add(
          place, "talkdesk.next_key",
          Refusal(
            "there is no key to rotate from: a client secret is set (\(secretPlace))", "remove one of the two"
          ))
      }
      return clientSecret().map(Configuration.ClientAuthentication.secret)
    }
    let nextKey = nextKey(
      id: next.keyID, clientID: next.clientID, algorithm: next.algorithm ?? algorithm, current: keyID)
    guard
      let key = signingKey(
        Settings.privateKey, Settings.signer, id: keyID, algorithm: algorithm,
        algorithmSetting: Settings.keyAlgorithm)
    else { return nil }
    return .key(key, next: nextKey)
  }

  private mutating func clientSecret() -> Secret? {
    guard let (bytes, place) = secret(Settings.clientSecret) else { return nil }
    // Only a readable private key matters here, so the error of any other text is ignored.
    guard (try? PrivateKey(bytes)) == nil else {
      problems.add(
        place, Settings.clientSecret.setting.name,
        Refusal("contains a private key, not a client secret", "give it as the private key, with its key id"))
      return nil
    }
    guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      problems.add(
        place, Settings.clientSecret.setting.name,
        Refusal("contains characters that a client secret cannot have", "copy it again, without line breaks"))
      return nil
    }
    return Secret(bytes)
  }

  private mutating func nextKey(
    id: String?, clientID: String?, algorithm: SignatureAlgorithm, current: String?
  ) -> Configuration.SigningKey? {
    let keyPlace = place(of: Settings.nextKey) ?? place(of: Settings.nextSigner)
    let idPlace = place(of: Settings.nextKeyID)
    let others = self.place(of: Settings.nextKeyAlgorithm) ?? self.place(of: Settings.nextClientID)
    guard let place = keyPlace ?? idPlace ?? others else { return nil }
    guard keyPlace != nil, let idPlace else {
      problems.add(
        place, "talkdesk.next_key",
        Refusal(
          "has no \(keyPlace == nil ? "private_key_file" : "key_id")",
          "give key_id and private_key_file"))
      return nil
    }
    if let id, id == current, clientID == nil {
      problems.add(
        idPlace, Settings.nextKeyID.setting.name,
        Refusal("is the id of the current key", "give the id Talkdesk gave the new key"))
    }
    let algorithmSetting =
      isStated(Settings.nextKeyAlgorithm) ? Settings.nextKeyAlgorithm : Settings.keyAlgorithm
    return signingKey(
      Settings.nextKey, Settings.nextSigner, id: id, clientID: clientID, algorithm: algorithm,
      algorithmSetting: algorithmSetting)
  }

  private mutating func signingKey(
    _ setting: TypedSetting<String>, _ remote: SignerSettings, id: String?, clientID: String? = nil,
    algorithm: SignatureAlgorithm, algorithmSetting: TypedSetting<SignatureAlgorithm>
  ) -> Configuration.SigningKey? {
    if let place = self.place(of: remote) {
      if let other = self.place(of: setting) {
        problems.add(
          other, setting.setting.name,
          Refusal("a signer is set too (\(place))", "keep one of the two, and remove the other"))
      }
      guard let (settings, authorities) = signer(remote), let id else { return nil }
      return Configuration.SigningKey(
        id: id, algorithm: algorithm, source: .signer(settings, authorities), clientID: clientID)
    }
    guard let (bytes, place) = secret(setting, isDocument: true) else { return nil }
    let key: PrivateKey
    do {
      key = try PrivateKey(bytes)
    } catch {
      problems.add(place, setting.setting.name, refusal(of: error, for: bytes))
      return nil
    }
    guard key.fits(algorithm) else {
      let fitting = Settings.talkdeskAlgorithms.filter(key.fits).map(\.rawValue)
      let remedy =
        fitting.isEmpty
        ? "use an EC key on P-256, P-384 or P-521, or an RSA key of 2048 bits or more"
        : "use \(fitting.joined(separator: " or ")), or the key that belongs to \(algorithm.rawValue)"
      let stated = self.place(of: algorithmSetting)
      problems.add(
        stated ?? .setting(algorithmSetting.setting.variable ?? algorithmSetting.setting.name),
        algorithmSetting.setting.name,
        Refusal(
          "\(algorithm.rawValue)\(stated == nil ? ", the default," : "") does not fit the key, which is \(key.kind)",
          remedy))
      return nil
    }
    return id.map {
      Configuration.SigningKey(id: $0, algorithm: algorithm, source: .key(key), clientID: clientID)
    }
  }

  /// The problem of an unreadable key. A path in place of the key gets its own remedy.
  private func refusal(of error: KeyError, for bytes: [UInt8]) -> Refusal {
    Self.looksLikePath(bytes)
      ? Refusal("contains a path, not a key", "set TD_PRIVATE_KEY_FILE to the path instead")
      : Refusal("\(error)", "")
  }

  /// Whether a text that should be a key or a secret looks like the path of a file instead.
  package static func looksLikePath(_ bytes: [UInt8]) -> Bool {
    let starts = ["/", "./", "../", "~/"].contains { bytes.starts(with: $0.utf8) }
    let ends = [".pem", ".key"].contains { bytes.suffix(4).elementsEqual($0.utf8) }
    return bytes.count < 256 && (starts || ends)
  }

  /// Reads `tokens`.
  mutating func tokens() -> Configuration.Tokens {
    Configuration.Tokens(
      share: value(Settings.share), minimumRemaining: value(Settings.minimumRemaining),
      deadline: value(Settings.tokenDeadline))
  }

  /// The number of the sandbox's account, from the range reserved for fiction.
  static let sandboxNumber = "+18005550199"

  /// Reads `callbacks`, with `TD_PHONE_NUMBER` as the first number.
  mutating func callbacks() -> Configuration.Callbacks {
    let listed = list(Settings.phoneNumbers)
    let first = stated(Settings.phoneNumber)
    var numbers = first.map { number in [number] + listed.filter { $0 != number } } ?? listed
    if numbers.isEmpty, purpose == .sandbox { numbers = [Self.sandboxNumber] }
    return Configuration.Callbacks(
      talkdeskPhoneNumbers: numbers,
      dedupeWindow: value(Settings.dedupeWindow), keyRetention: value(Settings.keyRetention),
      retention: value(Settings.retention), timeout: value(Settings.callbackTimeout),
      concurrency: value(Settings.concurrency))
  }
}
