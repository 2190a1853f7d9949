// Reads `admin.operators` and `admin.jwt`, the operators with names, from the configuration.

import Callers
import Documents
import Gate
import JOSE
import Texts

extension Settings {
  static let operatorName = TypedSetting(
    Setting(
      "admin.operators[].name", required: "give the operator a name", example: "ann",
      "The operator's unique name: 1–64 visible characters, with spaces inside."
    ),
    operatorNameForm)
  static let operatorToken = TypedSetting(
    Setting(
      "admin.operators[].token_sha256", holdsSecret: true,
      required: "make a token with: callgate operator new NAME",
      example: String(repeating: "0", count: 60) + "feed",
      "SHA-256 of the operator's Bearer token in lower-case hex. `callgate operator new` prints it."),
    DigestText.form)
  static let operatorRole = TypedSetting(
    Setting(
      "admin.operators[].role", default: "read", example: "operate",
      "The operator's role: `read`, `approve` or `operate`."), TextForm<Operator.Role>.choice)
  static let operatorIssuer = TypedSetting(
    Setting(
      "admin.jwt.issuer", required: "give the exact iss of the operators' tokens",
      example: "https://id.example",
      "The exact `iss` of operators' JWTs."),
    NameText.visible("an issuer"))
  static let operatorAudience = TypedSetting(
    Setting(
      "admin.jwt.audience", required: "give the aud that operators' tokens have", example: "callgate-admin",
      "A value that a token's `aud` must contain."), NameText.visible("an audience"))
  static let operatorKeysURL = TypedSetting(
    Setting(
      "admin.jwt.jwks_url", example: "https://id.example/jwks.json",
      "URL of the issuer's keys. Set exactly one of `jwks_url`, `jwks_file` and `hs256_secret_file`."),
    URLText.complete)
  static let operatorKeysFile = TypedSetting(
    Setting(
      "admin.jwt.jwks_file", .file, example: "/etc/callgate/admin-jwks.json", "A file with the issuer's keys."
    ),
    NameText.path)
  static let operatorSecret = TypedSetting(
    Setting(
      "admin.jwt.hs256_secret_file", .secret, example: "/run/secrets/admin-hs256",
      "A file with the secret shared with the issuer, 32 bytes or more."), NameText.path)
  static let operatorClaim = TypedSetting(
    Setting(
      "admin.jwt.name", default: "sub", example: "email",
      "The claim with the operator's name, else `sub`."), NameText.claim)
  static let operatorGroupClaim = TypedSetting(
    Setting(
      "admin.jwt.role.claim", required: "name the claim with the operator's groups", example: "groups",
      "The claim that decides the role, a string or a list. The highest role counts; without one, requests get "
        + "403. Without `role`, all operators have `read`."),
    NameText.claim)
  static let operatorGroups = Operator.Role.allCases.reversed().map { role in
    TypedSetting(
      Setting(
        "admin.jwt.role.\(role.rawValue)[]", example: example(role),
        "Values of the claim for the role `\(role.rawValue)`."
      ),
      TextForm.text)
  }

  /// The variables with an operator's token and the path of its file. Only commands read them.
  package static let operatorTokenVariables = ["CALLGATE_OPERATOR_TOKEN", "CALLGATE_OPERATOR_TOKEN_FILE"]

  /// The settings of operators with names.
  static let operators: [Setting] =
    [
      operatorName.setting, operatorToken.setting, operatorRole.setting, operatorIssuer.setting,
      operatorAudience.setting, operatorKeysURL.setting, operatorKeysFile.setting, operatorSecret.setting,
      operatorClaim.setting, operatorGroupClaim.setting,
    ] + operatorGroups.map(\.setting)

  private static func example(_ role: Operator.Role) -> String {
    switch role {
    case .read: "staff"
    case .approve: "support"
    case .operate: "oncall"
    }
  }

  private static let operatorNameForm: @Sendable (String) throws(Refusal) -> String = {
    text throws(Refusal) in
    guard Operator.isName(text) else {
      throw Refusal(
        "\(quoted(text)) is not an operator's name",
        "use 1 to \(Operator.longestName) visible characters, with spaces only inside")
    }
    return text
  }
}

extension ConfigurationBuilder {
  static let operatorsSection = "admin.operators"
  static let operatorIssuerSection = "admin.jwt"

  /// Whether the configuration names operators, even if some of them are invalid.
  package var mentionsOperators: Bool {
    if partial.sections[Self.operatorIssuerSection] != nil { return true }
    guard case .list(let items) = partial.sections[Self.operatorsSection]?.content else { return false }
    return !items.isEmpty
  }

  /// Reads `admin.operators`.
  /// - Parameter token: The admin token. Its operator is `admin`.
  mutating func operators(beside token: Secret?) -> [ConfiguredOperator] {
    guard let section = partial.sections[Self.operatorsSection] else { return [] }
    guard case .list(let items) = section.content else {
      problems.add(
        section.place, Self.operatorsSection,
        Refusal("is \(section.kind), not a list", "start each operator with - { name: … }"))
      return []
    }
    let adminToken = token.map { SecretDigest(SHA256Digest(of: $0.exposedBytes())) }
    let hasAdmin = partial.entries[Settings.adminToken.setting] != nil
    var operators: [ConfiguredOperator] = []
    for (index, item) in items.enumerated() {
      guard var members = open(item, path: "\(Self.operatorsSection)[\(index)]") else { continue }
      let name = members.value(Settings.operatorName.key())
      let digest = members.value(Settings.operatorToken.key())
      let role = members.value(Settings.operatorRole.key())
      close(&members, "admin.operators[].")
      guard let name, let digest else { continue }
      if operators.contains(where: { $0.name == name }) {
        problems.add(
          item.place, members.path,
          Refusal("another operator has the name \(quoted(name))", "give each a name of its own"))
      } else if hasAdmin, name == Operator.admin.identity.name {
        problems.add(
          item.place, members.path,
          Refusal(
            "admin is the operator with the admin token",
            "choose another name, or remove CALLGATE_ADMIN_TOKEN (admin.token_file)"))
      }
      if digest == adminToken || operators.contains(where: { $0.token == digest }) {
        problems.add(
          item.place, members.path,
          Refusal(
            "another operator has the same token", "make one for each with: callgate operator new NAME"))
      }
      operators.append(ConfiguredOperator(name: name, role: role ?? .read, token: digest))
    }
    return operators
  }

  /// Reads `admin.jwt`. Nil without the section, or without a valid issuer, audience and source of keys.
  mutating func operatorIssuer() -> OperatorIssuer? {
    guard let section = partial.sections[Self.operatorIssuerSection],
      var members = open(section, path: Self.operatorIssuerSection)
    else { return nil }
    let claim = members.value(Settings.operatorClaim.key())
    let roles = members.node("role").flatMap { operatorRoles($0) }
    let issuer = issuer(&members, "admin.jwt.", subject: claim ?? "sub", fallback: "sub")
    return issuer.map { OperatorIssuer(issuer: $0, roleClaim: roles?.claim, groups: roles?.groups ?? [:]) }
  }

  private mutating func operatorRoles(
    _ node: DocumentNode
  ) -> (claim: String, groups: [Operator.Role: [String]])? {
    guard var members = open(node, path: "admin.jwt.role") else { return nil }
    let claim = members.value(Settings.operatorGroupClaim.key())
    var groups: [Operator.Role: [String]] = [:]
    for (role, setting) in zip(Operator.Role.allCases.reversed(), Settings.operatorGroups) {
      groups[role] = members.values(setting.key())
    }
    close(&members, "admin.jwt.role.")
    if groups.values.allSatisfy(\.isEmpty), claim != nil {
      problems.add(
        node.place, members.path,
        Refusal("gives no role, so every JWT would be refused", "add operate: [GROUP], approve: or read:"))
    }
    return claim.map { ($0, groups) }
  }

  /// Warns if a token of a caller's user may also be an operator's, because issuer and audience are the same.
  mutating func judgeOperators(_ jwt: OperatorIssuer?, beside callers: [ConfiguredCaller]) {
    guard let own = jwt?.issuer, let place = partial.sections[Self.operatorIssuerSection]?.place else {
      return
    }
    for caller in callers {
      guard case .jwt(let other) = caller.proof, other.issuer.hasSameBytes(as: own.issuer),
        other.audience.hasSameBytes(as: own.audience)
      else { continue }
      problems.note(
        place,
        "admin.jwt has the issuer and audience of caller \(quoted(caller.id)): a token of its users may also be an operator's."
          + " Give operators' tokens an audience of their own")
    }
  }
}
