// One business rule as configured: its name, scope, mode and kind.

public import Documents

/// A business rule as configured.
public struct Rule: Sendable {
  /// How a rule's denial is taken.
  public enum Mode: String, CaseIterable, Sendable {
    /// It decides.
    case enforce
    /// It is recorded as `would_deny` and changes nothing.
    case audit
    /// The rule is passed over.
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

    /// The word for a kind in a configuration: the one list of them. The keys of each stand in `RuleKeys`, its reading in
    /// `RuleReader`; neither compiles without a kind that stands here.
    public enum Word: String, CaseIterable, Sendable {
      case hours, rate, quota, numbers, addresses, claims, field, remote, agents
      case ownNumber = "own_number"
      case consent, screened
    }

    /// The word for it in a configuration.
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

  /// Its name, unique in a policy.
  public let name: String
  /// The actions it concerns.
  public let actions: Set<Action>
  /// The apps it concerns; nil for all, and for none.
  public let apps: [String]?
  /// The callers it concerns, `anonymous` among them; nil for all.
  public let callers: [String]?
  /// How its denial is taken.
  public let mode: Mode
  /// The kind of check.
  public let kind: Kind
  /// The brake that it is; nil for a configured rule.
  public let brake: Brake?

  /// The name of the rule that refuses premium, short and satellite numbers without being configured.
  public static let defaultNumbers = "default-numbers"
  /// The name of the rule that refuses numbers that an operator has blocked. A configured rule may have it too.
  public static let blocked = "blocked"
  /// The name of the rule that limits first requests for an installation without being configured. A configured rule of this name
  /// would share its count.
  static let enrolments = "built-in.enrolments"
  /// The names of the limits on installations that an attestation alone authorizes.
  static let attestedApp = "built-in.attested-app"
  static let attestedAddress = "built-in.attested-address"
  static let attestationToken = "built-in.attestation-token"
  static let attestationChallenge = "built-in.attestation-challenge"
  static let attestationPass = "built-in.attestation-pass"
  /// The name of the limit on challenges.
  static let challenges = "built-in.challenges"
  /// The name of the limit on tokens that Google decodes.
  static let decodings = "built-in.decodings"
  /// The name of the limit on proofs of keys, each of which is good once.
  static let proof = "built-in.proof"
  /// The name of the limit on such proofs by address.
  static let proofs = "built-in.proofs"
  /// The names of the limits on proofs of numbers: for each proof, and for all together.
  static let numberProof = "built-in.number-proof"
  static let numberProofs = "built-in.number-proofs"
  /// The same for the rule that limits unknown ids of notices.
  static let unknownNotices = "built-in.unknown-notices"

  /// A rule. Throws for a name that cannot be printed everywhere, and for a rule that would concern nothing.
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

  /// A built-in limit by address.
  private static let ownNames = [
    defaultNumbers, enrolments, unknownNotices, attestedApp, attestedAddress, attestationToken,
    attestationChallenge, attestationPass, challenges, decodings, proof, proofs,
    numberProof, numberProofs,
  ]

  init(builtIn name: String, _ action: Action, _ kind: Kind) {
    self.name = name
    actions = [action]
    apps = nil
    callers = nil
    mode = .enforce
    self.kind = kind
    brake = nil
  }

  /// The rule of a brake: on every callback.
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
