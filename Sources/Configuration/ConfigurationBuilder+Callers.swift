// Reads and checks the `callers` section, and adds the caller of `DEFAULT_USERNAME`.

import Callers
package import Documents
import JOSE
import Texts

extension ConfigurationBuilder {
  /// Reads `callers`, with the caller of `DEFAULT_USERNAME` first.
  mutating func callers() -> [ConfiguredCaller] {
    var callers: [ConfiguredCaller] = []
    if let caller = defaultCaller() { callers.append(caller) }
    guard let section = partial.sections["callers"] else { return callers }
    guard case .list(let items) = section.content else {
      problems.add(
        section.place, "callers",
        Refusal("is \(section.kind), not a list", "start each caller with - { id: … }"))
      return callers
    }
    var ids: Set<ExactText> = mentionsDefaultCaller ? [ExactText(Self.defaultCallerID)] : []
    for item in items {
      refuseTwin(item, among: &ids)
      guard let caller = caller(item) else { continue }
      if let twin = callers.first(where: { Self.cannotTellApart($0.proof, caller.proof) }) {
        problems.add(
          item.place, "callers.\(caller.id)",
          Refusal("accepts the same credentials as caller \(quoted(twin.id))", "give each its own credential")
        )
      }
      callers.append(caller)
    }
    return callers
  }

  /// Refuses an id that an earlier caller has, even if one of the two has other problems.
  private mutating func refuseTwin(_ item: DocumentNode, among ids: inout Set<ExactText>) {
    guard let id = item["id"], let text = id.text, !ids.insert(ExactText(text)).inserted else { return }
    problems.add(
      id.place, "callers",
      Refusal(
        "another caller has the id \(quoted(text))",
        text == Self.defaultCallerID
          ? "default is the caller of DEFAULT_USERNAME; choose another id" : "give each its own"))
  }

  private var mentionsDefaultCaller: Bool {
    place(of: Settings.username) != nil || place(of: Settings.password) != nil
  }

  /// The id of the caller of `DEFAULT_USERNAME`.
  private static let defaultCallerID = "default"

  private static func cannotTellApart(_ a: ConfiguredCaller.Proof, _ b: ConfiguredCaller.Proof)
    -> Bool
  {
    switch (a, b) {
    case (.basic(let one, _, _), .basic(let other, _, _)): one.hasSameBytes(as: other)
    case (.apiKey(let one), .apiKey(let other)): one == other && one != .unmatchable
    case (.jwt(let one), .jwt(let other)):
      one.issuer.hasSameBytes(as: other.issuer) && one.audience.hasSameBytes(as: other.audience)
    case (.basic, _), (.apiKey, _), (.jwt, _): false
    }
  }

  private mutating func defaultCaller() -> ConfiguredCaller? {
    let username = stated(Settings.username)
    let namePlace = place(of: Settings.username)
    if let username, let namePlace { note(unseenIn: username, at: namePlace) }
    let passwordPlace = place(of: Settings.password)
    if let namePlace, passwordPlace == nil {
      problems.add(namePlace, nil, Refusal("is set without DEFAULT_PASSWORD", "set both, or neither"))
    }
    if let passwordPlace, namePlace == nil {
      problems.add(passwordPlace, nil, Refusal("is set without DEFAULT_USERNAME", "set both, or neither"))
    }
    guard namePlace != nil, passwordPlace != nil else { return nil }
    let password = purpose.opensListenerSecrets ? self.password(secret(Settings.password)) : .unopened
    guard let username, let password else { return nil }
    return ConfiguredCaller(
      id: Self.defaultCallerID,
      proof: .basic(username: username, password: password.digest, isStrong: password.isStrong))
  }

  /// A password, stored as its digest.
  package struct Password {
    let digest: SecretDigest
    let isStrong: Bool

    /// The value for purposes that open no secrets.
    static let unopened = Password(digest: .unmatchable, isStrong: false)
  }

  /// Reads a password. Its length decides whether it is strong. A short password causes a notice.
  ///
  /// - Parameter name: The setting's name, for problems.
  package mutating func password(
    _ secret: (bytes: [UInt8], place: DocumentPlace)?, name: String = Settings.password.setting.name
  ) -> Password? {
    guard let (bytes, place) = secret else { return nil }
    // RFC 7617 §2 forbids control characters in a password.
    if let control = bytes.first(where: { $0 < 0x20 || $0 == 0x7F }) {
      problems.add(
        place, name,
        Refusal(
          "contains \(Unicode.Scalar(control).unseenName), which a password must not have", "remove it"))
      return nil
    }
    if bytes.count < 8 {
      problems.note(
        place, "is shorter than 8 characters and easily guessed. Generate one: openssl rand -hex 32")
    }
    return Password(
      digest: SecretDigest(SHA256Digest(of: bytes)),
      isStrong: String(decoding: bytes, as: UTF8.self).count >= Self.strongLength)
  }

  /// The minimum length of a strong password, in characters.
  private static let strongLength = 20

  private mutating func caller(_ node: DocumentNode) -> ConfiguredCaller? {
    guard var members = open(node, path: "callers") else { return nil }
    let id = members.value(Settings.callerID.key())
    if let id { members.path = "callers.\(id)" }
    let kind = closeWithOne(
      &members, "callers[].", none: "credential", several: "credentials")
    guard let kind, let inner = node[kind] else { return nil }
    let path = members.name(of: kind)
    let proof: ConfiguredCaller.Proof? =
      switch kind {
      case "basic": basic(inner, path: path)
      case "api_key": apiKey(inner, path: path)
      default: jwt(inner, path: path).map(ConfiguredCaller.Proof.jwt)
      }
    guard let id, let proof else { return nil }
    return ConfiguredCaller(id: id, proof: proof)
  }

  private mutating func basic(_ node: DocumentNode, path: String) -> ConfiguredCaller.Proof? {
    guard var members = open(node, path: path) else { return nil }
    let username = members.value(Settings.basicUsername.key())
    if let username { note(unseenIn: username, at: node["username"]?.place ?? node.place) }
    let digest = members.value(Settings.basicDigest.key())
    let isStrong = members.value(Settings.basicStrong.key())
    var password = digest.map { Password(digest: $0, isStrong: isStrong ?? false) }
    if let placed = source(Settings.basicFile, in: &members) {
      password =
        purpose.opensListenerSecrets
        ? self.password(
          secretBytes(placed.source, at: placed.place, name: placed.name).map { ($0, placed.place) },
          name: placed.name)
        : .unopened
    }
    let one = closeWithOne(&members, "callers[].basic.", none: "password", several: "passwords")
    if let strong = node["strong"], let one, one != "password_sha256" {
      problems.add(
        strong.place, members.name(of: "strong"),
        Refusal(
          "is only for password_sha256: the server reads the length of \(one) itself", "remove it"))
      return nil
    }
    guard let username, let password, one != nil else { return nil }
    return .basic(username: username, password: password.digest, isStrong: password.isStrong)
  }

  private mutating func apiKey(_ node: DocumentNode, path: String) -> ConfiguredCaller.Proof? {
    guard var members = open(node, path: path) else { return nil }
    let digest = members.value(Settings.keyDigest.key())
    close(&members, "callers[].api_key.")
    return digest.map(ConfiguredCaller.Proof.apiKey)
  }

  private mutating func jwt(_ node: DocumentNode, path: String) -> JWTIssuer? {
    guard var members = open(node, path: path) else { return nil }
    let subject = members.value(Settings.jwtSubject.key())
    return issuer(&members, "callers[].jwt.", subject: subject ?? "sub")
  }

  /// Reads issuer, audience and keys, then closes the mapping.
  mutating func issuer(
    _ members: inout MappingReader, _ section: String, subject: String, fallback: String? = nil
  ) -> JWTIssuer? {
    let issuer = members.value(Settings.jwtIssuer.key())
    let audience = members.value(Settings.jwtAudience.key())
    let url = members.value(Settings.jwtURL.key())
    let set = self.source(Settings.jwtFile, in: &members)
    let secret = self.source(Settings.jwtSecret, in: &members)
    let one = closeWithOne(
      &members, section, none: "keys to verify with", several: "sources of keys")
    guard let one, let place = members.node[one]?.place else { return nil }
    let keys: JWTIssuer.Keys? =
      url.map { .url($0, place) } ?? set.flatMap { keySet($0) } ?? secret.flatMap { sharedSecret($0) }
    guard let issuer, let audience, let keys else { return nil }
    return JWTIssuer(
      issuer: issuer, audience: audience, keys: keys, subjectClaim: subject, fallbackClaim: fallback)
  }

  private mutating func keySet(_ placed: PlacedSource) -> JWTIssuer.Keys? {
    guard purpose.opensListenerSecrets else { return .unopened }
    let (source, place, name) = (placed.source, placed.place, placed.name)
    guard let bytes = content(of: source, at: place, name: name, limit: Self.maximumDocumentBytes) else {
      return nil
    }
    do throws(JWKSetError) {
      let set = try JWKSet(parsing: bytes)
      // A set may contain keys for other uses (RFC 7517 §5). A set without a key for signatures would refuse
      // every user.
      guard !set.keys.isEmpty else {
        let reason = set.skipped.first.map { ": \($0.reason)" } ?? ""
        problems.add(
          place, name,
          Refusal(
            "names a JWK set without a usable public key\(reason)",
            "use P-256, P-384, P-521, RSA or Ed25519 keys"))
        return nil
      }
      for skipped in set.skipped { problems.note(place, "\(source.shown): \(skipped.words)") }
      if set.keys.contains(where: \.hasPrivateMembers) {
        problems.note(
          place, "\(source.shown) contains a private key; a JWK set may have public keys only")
      }
      return .set(set)
    } catch {
      problems.add(
        place, name, Refusal("names a \(source.noun) that is not a JWK set: \(error)", "give {\"keys\": […]}")
      )
      return nil
    }
  }

  private mutating func sharedSecret(_ placed: PlacedSource) -> JWTIssuer.Keys? {
    guard purpose.opensListenerSecrets else { return .unopened }
    let (place, name) = (placed.place, placed.name)
    guard let bytes = secretBytes(placed.source, at: place, name: name) else { return nil }
    do throws(KeyError) {
      return .secret(try SymmetricKey(Secret(bytes), algorithm: .HS256))
    } catch {
      problems.add(place, name, Refusal("\(error)", "use a longer secret: openssl rand -hex 32"))
      return nil
    }
  }

  /// Reads `allow_anonymous`, which is on by default in the sandbox. If it is off and the purpose needs a
  /// caller, at least one must be configured.
  mutating func allowAnonymous(beside callers: [ConfiguredCaller]) -> Bool {
    let allowed = stated(Settings.allowAnonymous) ?? (purpose == .sandbox)
    if purpose.needsCaller, callers.isEmpty, !allowed, !mentionsCaller, isReadable(Settings.allowAnonymous) {
      problems.add(
        .setting("callers"), nil,
        Refusal(
          "no client could use the server: no caller is configured, and anonymous access is not allowed",
          "set DEFAULT_USERNAME and DEFAULT_PASSWORD, list callers in the YAML file, or allow requests without credentials with "
            + "CALLGATE_ALLOW_ANONYMOUS=true (allow_anonymous: true)"))
    }
    if allowed, purpose == .serve || purpose == .check {
      problems.note(
        place(of: Settings.allowAnonymous) ?? .standard,
        "anonymous access is allowed: every client that reaches this server gets tokens and callbacks within the rules"
      )
    }
    return allowed
  }

  /// Whether the configuration mentions a caller, valid or not. An invalid caller is already a problem.
  private var mentionsCaller: Bool {
    if mentionsDefaultCaller { return true }
    guard let section = partial.sections["callers"] else { return false }
    if case .list(let items) = section.content { return !items.isEmpty }
    return true
  }

  /// Whether a setting is absent or valid. An invalid value is already a problem.
  private func isReadable<Value>(_ typed: TypedSetting<Value>) -> Bool {
    guard case .text(let text) = partial.entries[typed.setting]?.content else { return true }
    do {
      _ = try typed.read(text)
      return true
    } catch {
      return false
    }
  }
}
