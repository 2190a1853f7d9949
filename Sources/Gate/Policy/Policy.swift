// The ordered list of rules that decides every request.

public import Documents
import Texts

/// An ordered list of rules. Evaluating it is pure: the same facts and states always give the same decision.
public final class Policy: Sendable {
  /// The configured rules in order, without the built-in ones.
  public let rules: [Rule]
  /// The limits of the brakes.
  public let brakes: Brakes
  /// The fields of a request that rules read, in lower case. `Facts.fields` must contain them.
  public let fieldNames: [String]
  /// Whether any rule queries a remote policy.
  public let asksRemotes: Bool
  /// Whether any rule needs the number of available agents.
  public let asksAgents: Bool
  /// Whether there is a rule `own_number`.
  public let asksOwnNumber: Bool
  /// The indices of the rules `screened`.
  let screened: [Int]
  /// The limit on number lookups, which is the last entry; nil if no rule `screened` is on, or if the limit
  /// is off.
  let lookups: AllowanceRule?
  /// Whether a rule `screened` is on.
  public var asksScreening: Bool { !screened.isEmpty }

  /// A rule, prepared for evaluation. This is a class, so that reading an entry costs one reference count and
  /// copies nothing.
  final class Entry: Sendable {
    let question: Question
    let name: String
    /// The actions that the rule applies to, one bit each; 0 if the rule is off.
    let actions: UInt8
    let apps: NameSet?
    let callers: NameSet?
    let isEnforced: Bool
    /// The counting part of a rate or quota rule; nil for any other rule.
    let allowance: AllowanceRule?

    init(_ rule: Rule, index: Int, apps: NameSet?, callers: NameSet?) {
      question = Question(rule, index: index)
      allowance = if case .allowance(let allowance) = question { allowance } else { nil }
      name = rule.name
      actions = rule.mode == .off ? 0 : rule.actions.reduce(0) { $0 | $1.bit } & rule.kind.actions
      self.apps = apps
      self.callers = callers
      isEnforced = rule.mode == .enforce
    }

    /// The rule's result on a request, as far as the rule needs no other service.
    ///
    /// This is a method of the entry, so that it reads the entry in place, without copies or reference
    /// counts.
    func finding(_ facts: Held<Facts>, _ scope: RequestScope) -> Finding {
      guard Policy.applies(self, scope) else { return .passedOver }
      switch question {
      case .hours(let schedule):
        return schedule.value.isOpen(at: facts.value.opening.seconds) == true ? .allows : .closed
      case .allowance: return .counts
      case .numbers(let rule): return rule.value.allows(facts.value.phone) ? .allows : .numberNotAllowed
      case .addresses(let rule): return rule.value.allows(facts.value.address) ? .allows : .denies
      case .claims(let rule): return rule.value.allows(facts.value.claims) ? .allows : .denies
      case .field(let rule): return rule.value.allows(facts.value.fields) ? .allows : .denies
      case .remote: return .asks
      case .agents(let rule): return rule.value.allows(facts.value) ? .allows : .noAgents
      case .ownNumber(let rule): return rule.value.result(facts.value).map { .owns($0) } ?? .allows
      case .consent(let rule): return rule.value.fault(facts.value).map { .lacksConsent($0) } ?? .allows
      case .screened: return .passedOver
      }
    }
  }

  /// The result of one rule on a request, before other services are queried.
  enum Finding {
    /// The rule does not apply, or is `screened`, which is evaluated last.
    case passedOver
    case allows
    case denies
    case numberNotAllowed
    case noAgents
    /// The result for the number so far. A proof still has to be verified.
    case owns(NumberResult)
    case lacksConsent(ConsentFault)
    /// Opening hours deny the request.
    case closed
    /// The rule's allowance must be checked.
    case counts
    /// A remote policy must be queried.
    case asks
  }

  /// The kinds of rules, each behind one reference.
  enum Question: Sendable {
    case hours(Held<Schedule>)
    case allowance(AllowanceRule)
    case numbers(Held<NumbersRule>)
    case addresses(Held<AddressesRule>)
    case claims(Held<ClaimsRule>)
    case field(Held<FieldRule>)
    case remote(Held<RemoteRule>)
    case agents(Held<AgentsRule>)
    case ownNumber(Held<OwnNumberRule>)
    case consent(Held<ConsentRule>)
    case screened(Held<ScreenedRule>)

    init(_ rule: Rule, index: Int) {
      switch rule.kind {
      case .hours(let schedule): self = .hours(Held(schedule))
      case .rate, .quota:
        guard let allowance = AllowanceRule(rule, index: index) else {
          preconditionFailure("a rate or quota rule without an allowance")
        }
        self = .allowance(allowance)
      case .numbers(let rule): self = .numbers(Held(rule))
      case .addresses(let rule): self = .addresses(Held(rule))
      case .claims(let rule): self = .claims(Held(rule))
      case .field(let rule): self = .field(Held(rule))
      case .remote(let rule): self = .remote(Held(rule))
      case .agents(let rule): self = .agents(Held(rule))
      case .ownNumber(let rule): self = .ownNumber(Held(rule))
      case .consent(let rule): self = .consent(Held(rule))
      case .screened(let rule): self = .screened(Held(rule))
      }
    }
  }

  /// A value behind a reference, so that passing it around copies only the reference.
  final class Held<Value: Sendable>: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  let entries: [Entry]
  /// The JSON of each entry's verdicts, for audit lines.
  let verdictTexts: VerdictTexts
  /// The index of the first brake among the entries. The built-in rule about numbers comes right before it.
  let firstBrake: Int
  /// The actions of all entries in one array. For most rules that do not apply, reading this array is enough.
  let entryActions: [UInt8]
  /// The names of apps and callers that rules mention, each with its number.
  let appNames: [ExactText: Int]
  let callerNames: [ExactText: Int]
  /// Finds and caches the times at which opening hours are open together.
  let openings = Openings()
  /// Whether any rule switches off the built-in rule about numbers.
  private let hasOptOut: Bool
  /// The number of rate and quota rules, including brakes. A decision has at most as many charges to them;
  /// those of a number proof are extra.
  let mostCharges: Int

  /// Creates a policy. Throws if two rules have the same name.
  public convenience init(rules: [Rule], brakes: Brakes = .off) throws(Refusal) {
    var names: Set<String> = []
    for (index, rule) in rules.enumerated() where !names.insert(rule.name).inserted {
      throw Refusal(
        at: "[\(index)].name", "two rules are named \(quoted(rule.name))",
        "give each rule a name of its own")
    }
    self.init(distinct: rules, brakes)
  }

  /// A policy without configured rules: it allows everything except what the built-in rules refuse.
  public convenience init(brakes: Brakes) { self.init(distinct: [], brakes) }

  /// A policy without rules and brakes: it allows everything except what the built-in rules about numbers
  /// refuse.
  public static let open = Policy(brakes: .off)

  private init(distinct configured: [Rule], _ brakes: Brakes) {
    screened = configured.indices.filter {
      configured[$0].kind.word == .screened && configured[$0].mode != .off
    }
    let asked = configured + brakes.rules(withLookups: !screened.isEmpty)
    rules = configured
    self.brakes = brakes
    firstBrake = configured.count
    var apps: [ExactText: Int] = [:]
    var callers: [ExactText: Int] = [:]
    entries = asked.enumerated().map { index, rule in
      Entry(
        rule, index: index, apps: rule.apps.map { NameSet($0, numbering: &apps) },
        callers: rule.callers.map { NameSet($0, numbering: &callers) })
    }
    lookups = entries.last?.allowance.flatMap { $0.brake == .lookups ? $0 : nil }
    verdictTexts = VerdictTexts(entries.map(\.name) + [Rule.defaultNumbers, Rule.blocked])
    entryActions = entries.map(\.actions)
    appNames = apps
    callerNames = callers
    var fields: [String] = []
    var allowances = 0
    var remotes = false
    var agents = false
    var ownNumber = false
    var optOut = false
    for rule in asked where rule.mode != .off {
      switch rule.kind {
      case .field(let field): if !fields.contains(field.field) { fields.append(field.field) }
      case .rate, .quota: allowances += 1
      case .remote: remotes = true
      case .agents: agents = true
      case .ownNumber: ownNumber = true
      case .numbers(let numbers): if !numbers.refusesDefaultRanges { optOut = true }
      case .hours, .addresses, .claims, .consent, .screened: break
      }
    }
    fieldNames = fields
    mostCharges = allowances
    asksRemotes = remotes
    asksAgents = agents
    asksOwnNumber = ownNumber
    hasOptOut = optOut
  }

  /// The entries to which a request itself can be charged: all except the limit on lookups.
  var charged: ArraySlice<Entry> { entries[..<(entries.count - (lookups == nil ? 0 : 1))] }

  /// The names of all rules that can decide, including the brakes and the built-in rules about numbers.
  var ruleNames: [String] { entries.map(\.name) + [Rule.defaultNumbers, Rule.blocked] }

  // MARK: Verdicts

  /// The number of verdicts on a request. Brakes and the built-in rules about numbers apply to callbacks
  /// only. The rule for blocked numbers replaces the rule for number ranges.
  func verdictCount(_ scope: RequestScope, isBlocked: Bool) -> Int {
    guard scope.action == Action.callback.bit else { return firstBrake }
    return entries.count + (isBlocked || asksDefaultNumbers(scope) ? 1 : 0)
  }

  /// The index of an entry's verdict among `count` verdicts.
  @inline(__always) func verdictIndex(of index: Int, among count: Int) -> Int {
    index < firstBrake ? index : index + (count - entries.count)
  }

  /// The index of the entry with a verdict, given the verdict's index among `count` verdicts; nil for the
  /// built-in rule about numbers.
  @inline(__always) func index(at verdict: Int, among count: Int) -> Int? {
    guard verdict >= firstBrake, count > entries.count else { return verdict }
    return verdict == firstBrake ? nil : verdict - 1
  }

  /// The name of the rule with a verdict, given the verdict's index among `count` verdicts.
  func name(at verdict: Int, among count: Int, isBlocked: Bool) -> String {
    index(at: verdict, among: count).map { entries[$0].name }
      ?? (isBlocked ? Rule.blocked : Rule.defaultNumbers)
  }

  // MARK: Scope

  /// The action, app and caller of a request as numbers, which are fast to compare with the scopes of rules.
  struct RequestScope {
    var action: UInt8
    var app: Int?
    var caller: Int?
  }

  /// The scope of a request. Looks up its app and caller once for all rules.
  func scope(of facts: Facts) -> RequestScope {
    scope(of: facts.action, app: facts.appID, caller: facts.effectiveCaller)
  }

  func scope(of action: Action, app: String?, caller: String) -> RequestScope {
    RequestScope(
      action: action.bit, app: appNames.isEmpty ? nil : app.flatMap { appNames[ExactText($0)] },
      caller: callerNames.isEmpty ? nil : callerNames[ExactText(caller)])
  }

  /// Whether a rule applies to a request.
  @inline(__always) static func applies(_ entry: Entry, _ scope: RequestScope) -> Bool {
    guard entry.actions & scope.action != 0 else { return false }
    if let callers = entry.callers, !callers.contains(scope.caller) { return false }
    if let apps = entry.apps, !apps.contains(scope.app) { return false }
    return true
  }

  /// Whether the built-in rule about numbers applies: to callbacks, unless an enforced rule for the request
  /// says `default_deny: false`.
  func asksDefaultNumbers(_ scope: RequestScope) -> Bool {
    guard scope.action == Action.callback.bit else { return false }
    guard hasOptOut else { return true }
    for entry in entries where entry.isEnforced {
      if case .numbers(let rule) = entry.question, !rule.value.refusesDefaultRanges,
        Self.applies(entry, scope)
      {
        return false
      }
    }
    return true
  }

  // MARK: Evaluation

  /// Whether a rule of a kind applies to a request.
  public func asks(_ kind: Rule.Kind.Word, about facts: Facts) -> Bool {
    let scope = scope(of: facts)
    return zip(rules, entries).contains { $0.kind.word == kind && Self.applies($1, scope) }
  }

  /// The grant for an access token if the policy has no configured rules; nil if it has any.
  public func unconditionalAccess(callerID: String?, subject: String?, appID: String?, at now: Instant)
    -> Grant?
  {
    guard firstBrake == 0 else { return nil }
    return Grant(
      action: .access, callerID: callerID, subject: subject, appID: appID, phone: nil, receipts: [],
      grantedAt: now)
  }

  /// Starts the evaluation of a request.
  /// - Parameter isBlocked: Whether an operator has blocked the number of a callback.
  public func evaluation(
    of facts: Facts, asking questions: Evaluation.Questions = .all, isBlocked: Bool = false
  ) -> Evaluation {
    Evaluation(self, facts, questions, isBlocked: isBlocked)
  }

  /// Evaluates the rules on a request without waiting. The closure `remote` returns the results of remote
  /// policies. Number proofs are not verified, and numbers are not looked up.
  public func decide(
    _ facts: Facts, states: some AllowanceStates, isBlocked: Bool = false,
    remote: (RemoteQuery) -> RemoteAnswer = { _ in .notAsked }
  ) -> Decision {
    var evaluation = Evaluation(self, facts, .all, isBlocked: isBlocked)
    while true {
      switch evaluation.next(states) {
      case .decided(let decision): return decision
      case .asks(let query): evaluation.answer(remote(query))
      case .proves: evaluation.answer(.unjudged)
      case .screens: evaluation.answer(.unasked as ScreeningAnswer)
      }
    }
  }

  /// The charges whose allowances a decision on a request may read, for a store that has to fetch them first.
  ///
  /// - Parameter taking: Whether an allowed request is charged. If so, the states of brakes are left out:
  ///   brakes come last, so the charge itself decides.
  public func charges(for facts: Facts, taking: Bool = false) -> [AllowanceCharge] {
    guard mostCharges > 0 else { return [] }
    let scope = scope(of: facts)
    var charges: [AllowanceCharge] = []
    for entry in taking ? entries[..<firstBrake] : charged where Self.applies(entry, scope) {
      guard case .allowance(let rule) = entry.question else { continue }
      charges.append(AllowanceCharge(rule: rule, party: rule.scope.party(of: facts)))
    }
    return charges
  }

  /// The status of the enforced allowances for a request, in the order of the rules. Omits allowances that
  /// the store did not return, and allowances per phone number if the request has no number.
  public func statuses(for facts: Facts, states: some AllowanceStates) -> [AllowanceStatus] {
    let scope = scope(of: facts)
    var statuses: [AllowanceStatus] = []
    for entry in charged where entry.isEnforced && Self.applies(entry, scope) {
      guard case .allowance(let rule) = entry.question, rule.scope != .phone || facts.phone != nil
      else { continue }
      let state: AllowanceState?
      switch states.lookup(AllowanceKey(rule: rule.name, party: rule.scope.party(of: facts))) {
      case .unused: state = nil
      case .state(let kept): state = kept
      case .unavailable: continue
      }
      statuses.append(
        AllowanceStatus(
          rule: rule.name, count: rule.plan.count(of: state, at: facts.instant), isBrake: rule.brake != nil))
    }
    return statuses
  }
}

extension Action {
  /// The action's bit in a rule's scope.
  var bit: UInt8 { 1 << UInt8(number) }
}

extension Rule.Kind {
  /// The actions that a kind can apply to. Rules about phone numbers, and counts per number, apply to
  /// callbacks only.
  var actions: UInt8 {
    switch self {
    case .numbers, .rate(_, key: .phone, _), .quota(_, key: .phone, _), .ownNumber, .consent, .screened:
      Action.callback.bit
    case .hours, .rate, .quota, .addresses, .claims, .field, .remote, .agents: .max
    }
  }
}

/// A set of the names that rules mention, one bit for each name's number.
struct NameSet: Sendable {
  private var words: [UInt64] = []

  init(_ names: [String], numbering numbers: inout [ExactText: Int]) {
    for name in names.map({ ExactText($0) }) {
      let number = numbers[name] ?? numbers.count
      numbers[name] = number
      while words.count <= number / 64 { words.append(0) }
      words[number / 64] |= 1 << UInt64(number % 64)
    }
  }

  @inline(__always) func contains(_ number: Int?) -> Bool {
    guard let number, number / 64 < words.count else { return false }
    return words[number / 64] & 1 << UInt64(number % 64) != 0
  }
}
