// The result of evaluating a policy: the verdict of each rule and the outcome.

/// The verdict of one rule.
public enum Verdict: UInt8, Sendable {
  /// The rule has no objection.
  case allow
  /// The rule denied the request.
  case deny
  /// The rule would have denied the request, but is in audit mode.
  case wouldDeny
  /// The rule was not evaluated or gave no verdict. For example, it is off, does not apply, or comes after a
  /// denial.
  case skipped

  /// The word for audit lines and explanations.
  public var word: String {
    switch self {
    case .allow: "allow"
    case .deny: "deny"
    case .wouldDeny: "would_deny"
    case .skipped: "skipped"
    }
  }
}

/// Why a request is refused, as the code of its problem document.
public enum DenialCode: String, CaseIterable, Sendable {
  case closed
  case denied
  case numberNotAllowed = "number_not_allowed"
  case rateLimited = "rate_limited"
  case quotaExhausted = "quota_exhausted"
  case storeUnavailable = "store_unavailable"
  /// Too few agents are available, or their number is not known and the rule has `on_stale: deny`.
  case noAgents = "no_agents"
  /// Nothing shows that the number is the caller's.
  case numberNotProven = "number_not_proven"
  /// The customer's consent is missing, too old, in the future, or to a text that is not accepted.
  case consentRequired = "consent_required"
  /// The lookup at Talkdesk failed, and the rule has `on_failure: deny`.
  case upstreamUnavailable = "upstream_unavailable"
  /// Too many number proofs were used in the last 24 hours.
  case overloaded
  /// An operator's stop. The server makes this denial, not a rule.
  case stopped
  /// The request needs credentials and has none. The server makes this denial, not a rule.
  case unauthenticated
  /// The request names an unknown app. The server makes this denial, not a rule.
  case unknownApp = "unknown_app"
}

/// A refusal and the details for its response.
public struct Denial: Hashable, Sendable {
  /// The reason, as a code.
  public var code: DenialCode
  /// The rule that refused; nil if the server itself refused.
  public var rule: String?
  /// The next opening time. Only with `closed`, and nil if the action never opens again.
  public var nextOpen: Instant?
  /// The whole seconds to wait before a retry; nil if waiting does not help. After `closed`, `rateLimited` or
  /// `quotaExhausted`, opening hours, rates and quotas all allow the request at that time, unless other
  /// requests use the allowances first. If no such time exists, this is the time for the refusing rule alone.
  public var retryAfter: Int64?
  /// The exhausted allowance's limit and reset time; nil after any other refusal.
  public var status: AllowanceStatus?
  /// The remote policy's decision and reason, or why it gave none; nil if another rule refused. For
  /// operators, never for the caller.
  public var answer: RemoteAnswer?

  /// The reason why the rule refused, for operators. Nil if the rule's kind alone explains it.
  public var cause: String?
  /// The accepted ways to prove the number, or the accepted consent texts.
  public var options: [String]

  /// The reason why a rule refused, or why a remote policy gave no decision, for the audit line.
  public var reason: String? {
    switch answer {
    case .deny(let reason): reason
    case .failed(let cause): "the policy gave no decision: \(cause)"
    case .allow, nil: cause
    }
  }

  public init(
    code: DenialCode, rule: String?, nextOpen: Instant? = nil, retryAfter: Int64? = nil,
    status: AllowanceStatus? = nil, answer: RemoteAnswer? = nil, cause: String? = nil, options: [String] = []
  ) {
    self.code = code
    self.rule = rule
    self.nextOpen = nextOpen
    self.retryAfter = retryAfter
    self.status = status
    self.answer = answer
    self.cause = cause
    self.options = options
  }
}

/// A rule and its verdict.
public struct RuleVerdict: Hashable, Sendable {
  /// The rule's name.
  public var rule: String
  public var verdict: Verdict

  public init(rule: String, verdict: Verdict) {
    self.rule = rule
    self.verdict = verdict
  }
}

/// The verdict of every rule of a policy, in order, and of the built-in rules if they apply. Rule names stay
/// in the policy, so passing verdicts around copies no names.
public struct RuleVerdicts: RandomAccessCollection, Sendable {
  let policy: Policy
  let marks: [Verdict]
  /// Whether the verdicts include the built-in rule for blocked numbers in place of the one for number
  /// ranges.
  let isBlocked: Bool

  init(_ policy: Policy, _ marks: [Verdict], isBlocked: Bool = false) {
    self.policy = policy
    self.marks = marks
    self.isBlocked = isBlocked
  }

  /// No verdicts, because no rule was evaluated.
  public static let none = RuleVerdicts(.open, [])

  /// Whether a rule in audit mode would have denied.
  public var hasObjection: Bool { marks.contains(.wouldDeny) }

  public var startIndex: Int { 0 }
  public var endIndex: Int { marks.count }
  public subscript(index: Int) -> RuleVerdict {
    RuleVerdict(
      rule: policy.name(at: index, among: marks.count, isBlocked: isBlocked), verdict: marks[index])
  }
}

extension Policy {
  /// The verdicts for a request that was refused before any rule was evaluated: all configured rules are
  /// skipped.
  public var skipped: RuleVerdicts {
    RuleVerdicts(self, [Verdict](repeating: .skipped, count: firstBrake))
  }
}

/// The decision of the rules on a request, rule by rule.
public struct Decision: Sendable {
  public enum Outcome: Sendable {
    /// No enforced rule denies the request. The request is granted once its allowances are taken.
    case allow(Clearance)
    /// An enforced rule denies the request. Indirect, so that a decision stays small: it is passed around
    /// several times, and nearly all decisions allow.
    indirect case deny(Denial)
  }

  public internal(set) var outcome: Outcome
  /// The denials of rules in audit mode.
  public internal(set) var audited: [Denial]
  /// The policy that decided.
  public let policy: Policy
  var marks: [Verdict]
  /// The results of remote policies, by the index of their rules.
  let answers: [Int: RemoteAnswer]
  /// The result of verifying the proof of the number; nil if the proof was not needed.
  let proof: NumberProofAnswer?
  /// The result of the last rule `own_number`; nil if none was evaluated, or if it allowed a proof without
  /// verifying it.
  public let ownership: NumberResult?
  /// The verdict on the number; nil if no rule needed it, or if another rule refused first.
  let screening: ScreeningAnswer?
  /// Whether an operator has blocked the number.
  let isBlocked: Bool

  /// The verdict of every rule of the policy, in order, and of the built-in rules if they apply.
  public var verdicts: RuleVerdicts { RuleVerdicts(policy, marks, isBlocked: isBlocked) }

  /// The charges of an allowed request; none for a refusal.
  public var charges: [AllowanceCharge] {
    if case .allow(let clearance) = outcome { clearance.charges } else { [] }
  }

  /// The refusal; nil if the request is allowed.
  public var denial: Denial? {
    if case .deny(let denial) = outcome { denial } else { nil }
  }

  /// The final decision on an allowed request, after its charges were taken or refused.
  ///
  /// - Parameters:
  ///   - charged: The outcome of taking `clearance.charges`; `.taken([])` if there are none.
  ///   - now: The time at which the charges were taken.
  /// - Returns: The final decision, with a grant if the request is still allowed.
  public consuming func settled(_ charged: ChargeOutcome, at now: Instant) -> Settled {
    guard case .allow(let clearance) = outcome else { return .refused(self) }
    switch charged {
    case .taken(let receipts):
      precondition(receipts.count <= clearance.charges.count, "receipts of another request")
      return .granted(self, clearance.grant(receipts, at: now))
    case .refused(let index, let states):
      let charge = clearance.charges[index]
      if charge.rule.isOfProofs {
        deny(at: charge.rule.index, policy.denial(charge.rule, clearance.facts))
        return .refused(self)
      }
      var denial = Denial.exhausted(charge.rule, states[index], at: now)
      denial.wait(for: waiting(clearance, states), from: now)
      deny(at: charge.rule.index, denial)
      return .refused(self)
    case .unavailable:
      guard let strict = clearance.charges.first(where: { $0.isEnforced && $0.onStoreFailure == .deny })
      else {
        return .granted(self, clearance.grant([], at: now))
      }
      deny(at: strict.rule.index, .storeUnavailable(strict.rule.name))
      return .refused(self)
    }
  }

  /// A decision after its allowances were taken or refused.
  public enum Settled: ~Copyable, Sendable {
    case granted(Decision, Grant)
    /// The decision has a denial.
    case refused(Decision)
  }

  /// Changes the decision to a denial by the rule at an index. The verdicts of later rules become `.skipped`.
  private mutating func deny(at index: Int, _ denial: Denial) {
    let verdict = policy.verdictIndex(of: index, among: marks.count)
    marks[verdict] = .deny
    for later in marks.index(after: verdict)..<marks.endIndex { marks[later] = .skipped }
    outcome = .deny(denial)
  }
}

extension Denial {
  /// The time after which a client may retry, in seconds, if the store fails, a lookup at Talkdesk fails, or
  /// too many number proofs were used.
  static let storeRetryAfter: Int64 = 5

  static func noAgents(_ rule: String) -> Denial {
    Denial(code: .noAgents, rule: rule, retryAfter: AgentsRule.retryAfter)
  }

  static func storeUnavailable(_ rule: String) -> Denial {
    Denial(code: .storeUnavailable, rule: rule, retryAfter: storeRetryAfter)
  }

  /// The denial by a rule whose allowance is exhausted.
  static func exhausted(_ rule: AllowanceRule, _ state: AllowanceState?, at now: Instant) -> Denial {
    let count = rule.plan.count(of: state, at: now)
    let code: DenialCode =
      switch rule.plan {
      case .rate: .rateLimited
      case .quota: .quotaExhausted
      }
    return Denial(
      code: code, rule: rule.name, retryAfter: max(1, count.reset),
      status: AllowanceStatus(rule: rule.name, count: count, isBrake: rule.brake != nil))
  }
}
