// A rule of a policy: its name, scope, mode and kind.

public import Documents

/// A rule, configured or built in.
public struct Rule: Sendable {
  /// The effect of a rule's denial.
  public enum Mode: String, CaseIterable, Sendable {
    /// The denial refuses the request.
    case enforce
    /// The denial is recorded as `would_deny` and changes nothing.
    case audit
    /// The rule is not evaluated.
    case off
  }

  /// The kind of check.
  public enum Kind: Sendable {
    case hours(Schedule)
    case rate(RateLimit, key: AllowanceScope, onStoreFailure: FailurePolicy)
    case quota(Quota, key: AllowanceScope, onStoreFailure: FailurePolicy)
    case numbers(NumbersRule)
    case addresses(AddressesRule)
    case claims(ClaimsRule)
    case field(FieldRule)
    case remote(RemoteRule)
    case agents(AgentsRule)
    case ownNumber(OwnNumberRule)
    case consent(ConsentRule)
    case screened(ScreenedRule)

    /// The word for a kind in a configuration. This is the only list of kinds: `RuleKeys` declares the keys
    /// of each kind and `RuleReader` reads them, and neither compiles if a kind is missing.
    public enum Word: String, CaseIterable, Sendable {
      case hours, rate, quota, numbers, addresses, claims, field, remote, agents
      case ownNumber = "own_number"
      case consent, screened
    }

    /// The word for this kind in a configuration.
    public var word: Word {
      switch self {
      case .hours: .hours
      case .rate: .rate
      case .quota: .quota
      case .numbers: .numbers
      case .addresses: .addresses
      case .claims: .claims
      case .field: .field
      case .remote: .remote
      case .agents: .agents
      case .ownNumber: .ownNumber
      case .consent: .consent
      case .screened: .screened
      }
    }
  }

  /// The rule's name, unique in a policy.
  public let name: String
  /// The actions that the rule applies to.
  public let actions: Set<Action>
  /// The apps that the rule applies to; nil for all apps and for requests without an app.
  public let apps: [String]?
  /// The callers that the rule applies to (`anonymous` and `installation` can be among them); nil for all.
  public let callers: [String]?
  /// The effect of the rule's denial.
  public let mode: Mode
  /// The kind of check.
  public let kind: Kind
  /// The brake that this rule enforces; nil if the rule is not a brake.
  public let brake: Brake?

  /// The name of the built-in rule that refuses premium, short and satellite numbers, and the other numbers
  /// of `NumberRanges`.
  public static let defaultNumbers = "default-numbers"
  /// The name of the built-in rule that refuses numbers blocked by an operator. A configured rule may have
  /// the same name.
  public static let blocked = "blocked"
  /// The name of the built-in limit on first requests for an installation. A configured rule must not have
  /// this name, because it would share the count.
  static let enrolments = "built-in.enrolments"
  /// The names of the limits on enrollments by attestation (`AttestationLimits`).
  static let attestedApp = "built-in.attested-app"
  static let attestedAddress = "built-in.attested-address"
  static let attestationToken = "built-in.attestation-token"
  static let attestationChallenge = "built-in.attestation-challenge"
  static let attestationPass = "built-in.attestation-pass"
  /// The name of the limit on challenges.
  static let challenges = "built-in.challenges"
  /// The name of the limit on Play Integrity tokens that Google decodes.
  static let decodings = "built-in.decodings"
  /// The name of the limit by which each DPoP proof works only once.
  static let proof = "built-in.proof"
  /// The name of the limit on DPoP proofs per address.
  static let proofs = "built-in.proofs"
  /// The names of the limits on number proofs: one for each proof, and one for all proofs together.
  static let numberProof = "built-in.number-proof"
  static let numberProofs = "built-in.number-proofs"
  /// The name of the limit on requests with unknown push notification ids.
  static let unknownNotices = "built-in.unknown-notices"

  /// Creates a configured rule. Throws if the name is invalid or reserved, or if the rule would never apply.
  public init(
    name: String, actions: Set<Action> = Action.usual, apps: [String]? = nil,
    callers: [String]? = nil,
    mode: Mode = .enforce, kind: Kind
  ) throws(Refusal) {
    let bytes = name.utf8
    let printable = bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-._".utf8.contains($0) }
    let starts = bytes.first.map { $0.isASCIILetter || $0.isASCIIDigit } ?? false
    guard starts, printable, bytes.count <= 64 else {
      throw Refusal(
        at: "name", "\(quoted(name)) is not a name for a rule",
        "use up to 64 letters, digits, dashes, dots and underscores, a letter or digit first")
    }
    guard !Self.ownNames.contains(name) else {
      throw Refusal(at: "name", "\"\(name)\" is the name of a built-in rule", "choose another name")
    }
    guard !name.utf8.starts(with: Brake.prefix.utf8) else {
      throw Refusal(
        at: "name", "names that begin with \"\(Brake.prefix)\" are reserved for the built-in safety limits",
        "choose another name; to set the safety limits, use callbacks.brakes")
    }
    guard !actions.isEmpty else {
      throw Refusal(
        at: "on", "the rule applies to no action",
        "list at least one action, or leave \"on\" out; to switch the rule off use \"mode: off\"")
    }
    for (key, list) in [("apps", apps), ("callers", callers)] where list?.isEmpty == true {
      throw Refusal(
        at: key, "the list is empty, so the rule would never apply",
        "name some, or leave \"\(key)\" out; to switch the rule off use \"mode: off\"")
    }
    self.name = name
    self.actions = actions
    self.apps = apps
    self.callers = callers
    self.mode = mode
    self.kind = kind
    brake = nil
  }

  /// The names that are reserved for built-in rules.
  private static let ownNames = [
    defaultNumbers, enrolments, unknownNotices, attestedApp, attestedAddress, attestationToken,
    attestationChallenge, attestationPass, challenges, decodings, proof, proofs,
    numberProof, numberProofs,
  ]

  /// Creates a built-in rule for one action.
  init(builtIn name: String, _ action: Action, _ kind: Kind) {
    self.name = name
    actions = [action]
    apps = nil
    callers = nil
    mode = .enforce
    self.kind = kind
    brake = nil
  }

  /// Creates the rule of a brake, which applies to every callback.
  init(_ brake: Brake, _ kind: Kind) {
    name = brake.ruleName
    actions = [.callback]
    apps = nil
    callers = nil
    mode = .enforce
    self.kind = kind
    self.brake = brake
  }
}
