// Declares and reads `talkdesk.signer`: a key in Vault or OpenBao that signs instead of a private key here.

import Documents
import Talkdesk
import Texts
import Upstream

/// The settings of a signer, below a path.
struct SignerSettings: Sendable {
  let vault, mount, key, namespace: TypedSetting<String>
  let version: TypedSetting<Int>
  let tokenFile: TypedSetting<String>
  let roleID, secretIDFile, appRolePath: TypedSetting<String>
  let role, jwtFile, kubernetesPath: TypedSetting<String>
  let caFile: TypedSetting<String>
  let timeout: TypedSetting<Duration>

  init(_ path: String) {
    vault = TypedSetting(
      Setting(
        "\(path).vault", example: "https://vault.example.com:8200",
        "URL of Vault or OpenBao, whose Transit secrets engine signs instead of a private key here."),
      URLText.base)
    mount = TypedSetting(
      Setting("\(path).mount", default: "transit", example: "transit", "Path of the secrets engine."),
      Self.path)
    key = TypedSetting(
      Setting("\(path).key", example: "talkdesk", "Name of the key there."),
      NameText.identifier("a key's name"))
    namespace = TypedSetting(
      Setting("\(path).namespace", example: "team-a", "Namespace of its requests."), Self.path)
    version = TypedSetting(
      Setting(
        "\(path).key_version", note: "the newest at the start", example: "1",
        "Version of the key that Talkdesk knows. It stays fixed until a restart."),
      .number(1...1_000_000, of: "a version"))
    tokenFile = TypedSetting(
      Setting(
        "\(path).auth.token_file", .file, example: "/run/vault/token",
        "A file with a token, which another program renews. The server reads it for each signature."),
      NameText.path)
    roleID = TypedSetting(
      Setting("\(path).auth.approle.role_id", example: "db02de05", "Role's id, for a login by AppRole."),
      NameText.visible("a role id"))
    secretIDFile = TypedSetting(
      Setting(
        "\(path).auth.approle.secret_id_file", .file, example: "/run/secrets/vault-secret-id",
        "A file with the secret id of that role."), NameText.path)
    appRolePath = TypedSetting(
      Setting(
        "\(path).auth.approle.path", default: "approle", example: "approle", "Path of that login."),
      Self.path)
    role = TypedSetting(
      Setting(
        "\(path).auth.kubernetes.role", example: "callgate", "Role, for a login by a service account."),
      NameText.visible("a role"))
    jwtFile = TypedSetting(
      Setting(
        "\(path).auth.kubernetes.jwt_file", .file,
        default: "/var/run/secrets/kubernetes.io/serviceaccount/token",
        example: "/var/run/secrets/vault/token", "File with the service account's JWT."), NameText.path)
    kubernetesPath = TypedSetting(
      Setting(
        "\(path).auth.kubernetes.path", default: "kubernetes", example: "kubernetes",
        "Path of that login."), Self.path)
    caFile = TypedSetting(
      Setting(
        "\(path).ca_file", .file, note: "`outbound.ca_file`", example: "/etc/callgate/vault-ca.pem",
        "PEM file of the certificate authorities to trust at this Vault."), NameText.path)
    timeout = TypedSetting(
      Setting(
        "\(path).timeout", default: "2s", example: "2s",
        "Time limit of a signature, with the login: 100 ms to 30 s."),
      .duration(.milliseconds(100) ... .seconds(30)))
  }

  /// All settings of the signer, in the order of the documents.
  var all: [Setting] {
    [
      vault.setting, mount.setting, key.setting, namespace.setting, version.setting, tokenFile.setting,
      roleID.setting, secretIDFile.setting, appRolePath.setting, role.setting, jwtFile.setting,
      kubernetesPath.setting, caFile.setting, timeout.setting,
    ]
  }

  /// A path in Vault. Its segments need no escapes in a URL.
  private static let path: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isSafe = segments.allSatisfy { segment in
      !segment.isEmpty && segment.first != UInt8(ascii: ".")
        && segment.allSatisfy { octet in
          switch octet {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
          default: false
          }
        }
    }
    guard isSafe, text.utf8.count <= 128 else {
      throw Refusal(
        "\(quoted(text)) is not a path of Vault",
        "use 1 to 128 letters, digits, \"-\", \"_\" or \".\", in segments between slashes")
    }
    return text
  }
}

extension Settings {
  /// The signer of the current key.
  static let signer = SignerSettings("talkdesk.signer")
  /// The signer of the next key.
  static let nextSigner = SignerSettings("talkdesk.next_key.signer")
}

extension ConfigurationBuilder {
  /// The position of the first setting of a signer that is set; nil if none is.
  func place(of signer: SignerSettings) -> DocumentPlace? {
    signer.all.lazy.compactMap { partial.entries[$0]?.place }.first
  }

  /// Reads a signer, and the certificate authorities to trust there. Nil if none of its settings is set, and
  /// after a problem.
  mutating func signer(_ settings: SignerSettings) -> (TransitSettings, Authorities?)? {
    guard let place = place(of: settings) else { return nil }
    let login = login(settings, place)
    let authorities = authorities(settings.caFile)
    var made = TransitSettings(
      address: stated(settings.vault) ?? "", mount: value(settings.mount), key: stated(settings.key) ?? "",
      login: login ?? .token(.file("")), timeout: value(settings.timeout))
    made.namespace = stated(settings.namespace)
    made.version = stated(settings.version).map { Int64($0) }
    require(settings.vault, place, "write the URL of Vault or OpenBao")
    require(settings.key, place, "write the name of the key in the Transit secrets engine")
    guard login != nil, !made.address.isEmpty, !made.key.isEmpty else { return nil }
    return (made, authorities)
  }

  /// Reads the login. There must be exactly one.
  private mutating func login(_ settings: SignerSettings, _ place: DocumentPlace) -> VaultLogin? {
    let appRole = [settings.roleID, settings.secretIDFile, settings.appRolePath]
    let kubernetes = [settings.role, settings.jwtFile, settings.kubernetesPath]
    let entries = partial.entries
    let ways = [[settings.tokenFile], appRole, kubernetes].compactMap { way in
      way.lazy.compactMap { entries[$0.setting]?.place }.first
    }
    let path = settings.vault.setting.name.dropLast("vault".count) + "auth"
    guard ways.count == 1 else {
      problems.add(
        ways.count > 1 ? ways[1] : place, String(path),
        Refusal(
          ways.isEmpty ? "is missing" : "has more than one login",
          "set one of token_file, approle and kubernetes"))
      return nil
    }
    if self.place(of: settings.tokenFile) != nil { return vaultSecret(settings.tokenFile).map { .token($0) } }
    if appRole.contains(where: { self.place(of: $0) != nil }) {
      require(settings.roleID, ways[0], "write the id of the role")
      require(settings.secretIDFile, ways[0], "name a file with the secret id of the role")
      let mount = value(settings.appRolePath)
      guard let role = stated(settings.roleID), let secret = vaultSecret(settings.secretIDFile) else {
        return nil
      }
      return .appRole(roleID: role, secretID: secret, path: mount)
    }
    guard kubernetes.contains(where: { self.place(of: $0) != nil }) else { return nil }
    require(settings.role, ways[0], "write the role of the service account")
    let mount = value(settings.kubernetesPath)
    let jwt =
      self.place(of: settings.jwtFile) == nil
      ? settings.jwtFile.setting.standard.map { path in
        noteLoginFile(path, at: ways[0])
        return VaultSecret.file(path)
      } : vaultSecret(settings.jwtFile)
    guard let role = stated(settings.role), let jwt else { return nil }
    return .kubernetes(role: role, jwt: jwt, path: mount)
  }

  /// The source of a login's secret. A variable must be set now. A file may be written later, as Vault Agent
  /// does.
  private mutating func vaultSecret(_ setting: TypedSetting<String>) -> VaultSecret? {
    guard let (source, place) = source(setting) else { return nil }
    switch source {
    case .file(let path):
      noteLoginFile(path, at: place)
      return .file(path)
    case .variable(let name):
      return secretBytes(source, at: place, name: setting.setting.name).map { _ in .variable(name) }
    }
  }

  /// Notes a login's file that cannot be read yet, or that ends with a blank. The server reads the file again
  /// when it needs it.
  private mutating func noteLoginFile(_ path: String, at place: DocumentPlace) {
    do throws(ConfigurationFiles.Failure) {
      var bytes = try sources.files.read(path, 16 * 1024).bytes
      bytes.dropFinalLineFeed()
      if let blank = bytes.finalBlank {
        problems.note(place, "\(quoted(path: path)) ends with \(blank.blankName); remove it")
      }
    } catch {
      problems.note(
        place,
        "cannot read \(quoted(path: path)): \(error). The server cannot log in to Vault until another program writes it"
      )
    }
  }

  private mutating func require(_ setting: TypedSetting<String>, _ place: DocumentPlace, _ remedy: String) {
    let name = setting.setting.name
    guard self.place(of: setting) == nil, !partial.meant.contains(name) else { return }
    problems.add(place, name, Refusal("is missing", remedy))
  }
}
