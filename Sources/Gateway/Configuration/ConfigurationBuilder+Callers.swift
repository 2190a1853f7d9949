// Reads and checks the `callers` section, and adds the caller of `DEFAULT_USERNAME`.

import JOSE

extension ConfigurationBuilder {
  /// `callers`, with the caller of `DEFAULT_USERNAME` first.
  mutating func callers() -> [Configuration.Caller] {
    var callers: [Configuration.Caller] = []
    if let caller = defaultCaller() { callers.append(caller) }
    guard let section = partial.sections["callers"] else { return callers }
    guard case .list(let items) = section.content else {
      problems.add(
        section.place, "callers",
        Refusal("is \(section.kind), not a list", "start each caller with - { id: … }"))
      return callers
    }
    var ids: Set<String> = mentionsDefaultCaller ? [Self.defaultCallerID] : []
    for item in items {
      refuseTwin(item, among: &ids)
      guard let caller = caller(item) else { continue }
      if let twin = callers.first(where: { Self.cannotTellApart($0.proof, caller.proof) }) {
        problems.add(
          item.place, "callers.\(caller.id)",
          Refusal("cannot be told from caller \(quoted(twin.id))", "give each its own credential"))
      }
      callers.append(caller)
    }
    return callers
  }

  /// Refuses an id that an earlier caller has, whatever else is wrong with either.
  private mutating func refuseTwin(_ item: ConfigurationNode, among ids: inout Set<String>) {
    guard case .mapping(let members) = item.content,
      let id = members.first(where: { $0.name == "id" })?.value,
      case .text(let text, _) = id.content, !text.isEmpty, !ids.insert(text).inserted
    else { return }
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

  private static func cannotTellApart(_ a: Configuration.Caller.Proof, _ b: Configuration.Caller.Proof)
    -> Bool
  {
    switch (a, b) {
    case (.basic(let one, _), .basic(let other, _)): one == other
    case (.apiKey(let one), .apiKey(let other)): one == other && one != .unmatchable
    case (.jwt(let one), .jwt(let other)): one.issuer == other.issuer && one.audience == other.audience
    default: false
    }
  }

  private mutating func defaultCaller() -> Configuration.Caller? {
    let username = stated(Settings.username)
    let namePlace = place(of: Settings.username)
    let passwordPlace = place(of: Settings.password)
    if let namePlace, passwordPlace == nil {
      problems.add(namePlace, nil, Refusal("is set without DEFAULT_PASSWORD", "set both, or neither"))
    }
    if let passwordPlace, namePlace == nil {
      problems.add(passwordPlace, nil, Refusal("is set without DEFAULT_USERNAME", "set both, or neither"))
    }
    guard namePlace != nil, passwordPlace != nil else { return nil }
    let password = purpose.opensListenerSecrets ? digest(secret(Settings.password)) : .unmatchable
    guard let username, let password else { return nil }
    return Configuration.Caller(
      id: Self.defaultCallerID, proof: .basic(username: username, password: password))
  }

  /// The digest of a password; a short one is noted.
  package mutating func digest(_ secret: (bytes: [UInt8], place: ConfigurationPlace)?) -> SecretDigest? {
    guard let (bytes, place) = secret else { return nil }
    if bytes.count < 8 { problems.note(place, "is shorter than 8 characters and easily guessed") }
    return SecretDigest(SHA256Digest(of: bytes))
  }

  private mutating func caller(_ node: ConfigurationNode) -> Configuration.Caller? {
    guard var members = MemberReader(node, path: "callers", into: &problems) else { return nil }
    let id = members.required("id", "give it a name: id: ios-app", into: &problems) { text throws(Refusal) in
      let id = try NameText.identifier("a caller's id")(text)
      guard id != Configuration.anonymousCaller else {
        throw Refusal("\"anonymous\" is the caller of requests without credentials", "choose another id")
      }
      return id
    }
    if let id { members.path = "callers.\(id)" }
    let kinds = ["basic", "api_key", "jwt"]
    let given = kinds.filter(members.has)
    let nodes = kinds.map { members.node($0) }
    let isKnown = members.finish(into: &problems)
    guard given.count == 1 else {
      guard isKnown || !given.isEmpty else { return nil }
      problems.add(
        node.place, members.path,
        Refusal(
          given.isEmpty
            ? "has no way to prove itself"
            : "has several ways to prove itself: \(given.joined(separator: ", "))",
          "give it exactly one of basic, api_key and jwt"))
      return nil
    }
    let proof: Configuration.Caller.Proof?
    if let basic = nodes[0] {
      proof = self.basic(basic, path: members.name(of: "basic"))
    } else if let apiKey = nodes[1] {
      proof = self.apiKey(apiKey, path: members.name(of: "api_key"))
    } else if let jwt = nodes[2] {
      proof = self.jwt(jwt, path: members.name(of: "jwt")).map(Configuration.Caller.Proof.jwt)
    } else {
      proof = nil
    }
    guard let id, let proof else { return nil }
    return Configuration.Caller(id: id, proof: proof)
  }

  private mutating func basic(_ node: ConfigurationNode, path: String) -> Configuration.Caller.Proof? {
    guard var members = MemberReader(node, path: path, into: &problems) else { return nil }
    let username = members.required("username", "give it a username", into: &problems, CallerText.username)
    let hasDigest = members.has("password_sha256")
    let hasFile = members.has("password_file")
    var digest = members.value("password_sha256", into: &problems, DigestText.read)
    if let file = members.node("password_file"), let name = text(file, members.name(of: "password_file")) {
      digest =
        purpose.opensListenerSecrets
        ? self.digest(
          secretBytes(name, at: file.place, name: members.name(of: "password_file")).map { ($0, file.place) })
        : .unmatchable
    }
    let isKnown = members.finish(into: &problems)
    if hasDigest == hasFile, isKnown || hasFile {
      problems.add(
        node.place, path,
        Refusal(
          hasFile ? "has both password_sha256 and password_file" : "has no password",
          "give it one of password_sha256 and password_file"))
    }
    guard let username, let digest, hasDigest != hasFile else { return nil }
    return .basic(username: username, password: digest)
  }

  private mutating func apiKey(_ node: ConfigurationNode, path: String) -> Configuration.Caller.Proof? {
    guard var members = MemberReader(node, path: path, into: &problems) else { return nil }
    let digest = members.required(
      "sha256", "give the key's digest: printf %s 'THE KEY' | sha256sum", into: &problems, DigestText.read)
    members.finish(into: &problems)
    return digest.map(Configuration.Caller.Proof.apiKey)
  }

  private mutating func jwt(_ node: ConfigurationNode, path: String) -> Configuration.JWTIssuer? {
    guard var members = MemberReader(node, path: path, into: &problems) else { return nil }
    let issuer = members.required(
      "issuer", "give the exact iss of its tokens", into: &problems, NameText.visible("an issuer"))
    let audience = members.required(
      "audience", "give the aud its tokens carry for this server", into: &problems,
      NameText.visible("an audience"))
    let subject = members.value("subject_claim", into: &problems, NameText.claim)
    let sources = ["jwks_url", "jwks_file", "hs256_secret_file"]
    let given = sources.filter(members.has)
    let urlPlace = members.node("jwks_url")?.place ?? node.place
    let url = members.value("jwks_url", into: &problems, URLText.complete)
    let setFile = members.node("jwks_file")
    let secretFile = members.node("hs256_secret_file")
    let isKnown = members.finish(into: &problems)
    guard given.count == 1 else {
      guard isKnown || !given.isEmpty else { return nil }
      problems.add(
        node.place, path,
        Refusal(
          given.isEmpty
            ? "has no keys to verify with" : "has several sources of keys: \(given.joined(separator: ", "))",
          "give it exactly one of \(sources.joined(separator: ", "))"))
      return nil
    }
    var keys: Configuration.JWTIssuer.Keys? = url.map { .url($0, urlPlace) }
    if let setFile { keys = keySet(setFile, members.name(of: "jwks_file")) }
    if let secretFile { keys = sharedSecret(secretFile, members.name(of: "hs256_secret_file")) }
    guard let issuer, let audience, let keys else { return nil }
    return Configuration.JWTIssuer(
      issuer: issuer, audience: audience, keys: keys, subjectClaim: subject ?? "sub")
  }

  private mutating func keySet(_ node: ConfigurationNode, _ name: String) -> Configuration.JWTIssuer.Keys? {
    guard let path = text(node, name) else { return nil }
    guard purpose.opensListenerSecrets else { return .unopened }
    guard let content = file(path, at: node.place, name: name, limit: Self.maximumDocumentBytes) else {
      return nil
    }
    do throws(JWKSetError) {
      let set = try JWKSet(parsing: content.bytes)
      // A set may hold keys for others (RFC 7517 §5); one that holds none for us lets nobody in.
      guard !set.keys.isEmpty else {
        let reason = set.skipped.first.map { ": \($0.reason)" } ?? ""
        problems.add(
          node.place, name,
          Refusal(
            "names a JWK set without a usable public key\(reason)",
            "use P-256, P-384, P-521, RSA or Ed25519 keys"))
        return nil
      }
      if set.keys.contains(where: \.hasPrivateMembers) {
        problems.note(
          node.place, "\(quoted(path: path)) holds a private key; only public keys belong in a JWK set")
      }
      return .set(set, path: path)
    } catch {
      problems.add(
        node.place, name, Refusal("names a file that is no JWK set: \(error)", "give {\"keys\": […]}"))
      return nil
    }
  }

  private mutating func sharedSecret(_ node: ConfigurationNode, _ name: String) -> Configuration.JWTIssuer
    .Keys?
  {
    guard let path = text(node, name) else { return nil }
    guard purpose.opensListenerSecrets else { return .unopened }
    guard let bytes = secretBytes(path, at: node.place, name: name) else { return nil }
    do throws(KeyError) {
      return .secret(try SymmetricKey(Secret(bytes), algorithm: .HS256))
    } catch {
      problems.add(node.place, name, Refusal("\(error)", "use a longer secret: openssl rand -hex 32"))
      return nil
    }
  }

  private mutating func text(_ node: ConfigurationNode, _ name: String) -> String? {
    guard case .text(let text, _) = node.content, !text.isEmpty else {
      problems.add(node.place, name, Refusal("is \(node.kind), not the path of a file", "name a file"))
      return nil
    }
    return text
  }

  /// `allow_anonymous`, and that somebody may call at all.
  mutating func allowAnonymous(beside callers: [Configuration.Caller]) -> Bool {
    let allowed = stated(Settings.allowAnonymous) ?? (purpose == .sandbox)
    if purpose.needsCaller, callers.isEmpty, !allowed, !mentionsCaller, isReadable(Settings.allowAnonymous) {
      problems.add(
        .setting("callers"), nil,
        Refusal(
          "nobody may call: no caller is configured, and anonymous access is not allowed",
          "set DEFAULT_USERNAME and DEFAULT_PASSWORD, list callers in the YAML file, or let everybody in with "
            + "CALLGATE_ALLOW_ANONYMOUS=true (allow_anonymous: true)"))
    }
    if allowed, purpose == .serve || purpose == .check {
      problems.note(
        place(of: Settings.allowAnonymous) ?? .standard,
        "anonymous access is allowed: whoever reaches this server gets tokens and callbacks as far as the rules let"
      )
    }
    return allowed
  }

  /// Whether somebody tried to configure a caller; if none came of it, the reason is a problem already.
  private var mentionsCaller: Bool {
    if mentionsDefaultCaller { return true }
    guard let section = partial.sections["callers"] else { return false }
    if case .list(let items) = section.content { return !items.isEmpty }
    return true
  }

  /// Whether a setting is absent or can be read: a misspelt one has its own problem already.
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
