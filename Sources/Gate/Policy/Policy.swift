// The ordered list of rules that decides every request.

public import Documents
import Texts

/// An ordered list of rules. Asking it is pure: the same facts and states have the same decision.
public final class Policy: Sendable {
  /// The configured rules in order, without the built-in ones.
  public let rules: [Rule]
  /// The limits of the brakes.
  public let brakes: Brakes
  /// The fields of a request that rules read, in lower case. `Facts.fields` must hold them.
  public let fieldNames: [String]
  /// Whether any rule asks a remote policy.
  public let asksRemotes: Bool
  /// Whether any rule asks how many agents are available.
  public let asksAgents: Bool
  /// Whether there is a rule `own_number`.
  public let asksOwnNumber: Bool
  /// The indices of the rules `screened`.
  let screened: [Int]
  /// The limit on lookups of such verdicts, which is the last entry; nil where no rule asks, and where it is off.
  let lookups: AllowanceRule?
  /// Whether there is a rule `screened`.
  public var asksScreening: Bool { !screened.isEmpty }

  /// A rule, prepared for evaluation. It is an object, so that reading one costs one reference count and
  /// copies nothing.
  final class Entry: Sendable {
    let question: Question
    let name: String
    /// The actions it concerns, a bit each; none when it is off.
    let actions: UInt8
    let apps: NameSet?
    let callers: NameSet?
    let isEnforced: Bool
    /// How the rule counts; nil for a rule that does not.
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

    /// The rule's result on a request, as far as it needs no other service.
    ///
    /// It is a method of the entry, so that it reads the entry in place: it copies and counts nothing.
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

  /// The result of one rule on a request.
  enum Finding {
    /// It is out of scope.
    case passedOver
    case allows
    case denies
    case numberNotAllowed
    case noAgents
    /// The result for the number so far. A proof still has to be verified.
    case owns(NumberResult)
    case lacksConsent(ConsentFault)
    /// By opening hours.
    case closed
    /// Its allowance has to be looked at.
    case counts
    /// A remote policy has to be asked.
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

  /// A value that is looked at where it is.
  final class Held<Value: Sendable>: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  let entries: [Entry]
  /// What audit lines say of each entry.
  let verdictTexts: VerdictTexts
  /// The index of the first brake among the entries. The built-in rule about numbers comes right before it.
  let firstBrake: Int
  /// The entries' actions, side by side: most rules that do not concern a request are passed over by these alone.
  let entryActions: [UInt8]
  /// The names of apps and callers that any rule tells apart.
  let appNames: [ExactText: Int]
  let callerNames: [ExactText: Int]
  /// When opening hours are open together.
  let openings = Openings()
  /// Whether any rule switches the built-in one off.
  private let hasOptOut: Bool
  /// The most allowances a decision can take.
  let mostCharges: Int

  /// Makes a policy. Throws when two rules have one name.
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

  /// A policy without rules and brakes: it allows everything except what the built-in rule about numbers
  /// refuses.
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

  /// The entries that a request itself can be charged for: all but the limit on lookups.
  var charged: ArraySlice<Entry> { entries[..<(entries.count - (lookups == nil ? 0 : 1))] }

  /// The names of all rules that can decide, the built-in ones among them.
  var ruleNames: [String] { entries.map(\.name) + [Rule.defaultNumbers, Rule.blocked] }

  // MARK: Verdicts

  /// The number of verdicts on a request. Brakes and the built-in rules about numbers apply to callbacks only. The rule for blocked
  /// numbers takes the place of the other one.
  func verdictCount(_ scope: RequestScope, isBlocked: Bool) -> Int {
    guard scope.action == Action.callback.bit else { return firstBrake }
    return entries.count + (isBlocked || asksDefaultNumbers(scope) ? 1 : 0)
  }

  /// The index of an entry's verdict among so many verdicts.
  @inline(__always) func verdictIndex(of index: Int, among count: Int) -> Int {
    index < firstBrake ? index : index + (count - entries.count)
  }

  /// The index of the entry whose verdict has an index among so many; nil for the built-in rule about
  /// numbers.
  @inline(__always) func index(at verdict: Int, among count: Int) -> Int? {
    guard verdict >= firstBrake, count > entries.count else { return verdict }
    return verdict == firstBrake ? nil : verdict - 1
  }

  /// The name of the rule with an index among so many verdicts.
  func name(at verdict: Int, among count: Int, isBlocked: Bool) -> String {
    index(at: verdict, among: count).map { entries[$0].name }
      ?? (isBlocked ? Rule.blocked : Rule.defaultNumbers)
  }

  // MARK: Scope

  /// The numbers of a request's app and caller, which scopes compare.
  struct RequestScope {
    var action: UInt8
    var app: Int?
    var caller: Int?
  }

  /// Numbers a request's names once, for all its rules.
  func scope(of facts: Facts) -> RequestScope {
    scope(of: facts.action, app: facts.appID, caller: facts.effectiveCaller)
  }

  func scope(of action: Action, app: String?, caller: String) -> RequestScope {
    RequestScope(
      action: action.bit, app: appNames.isEmpty ? nil : app.flatMap { appNames[ExactText($0)] },
      caller: callerNames.isEmpty ? nil : callerNames[ExactText(caller)])
  }

  /// Whether a rule concerns a request.
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

  // MARK: Asking

  /// Whether a rule of a kind concerns a request.
  public func asks(_ kind: Rule.Kind.Word, about facts: Facts) -> Bool {
    let scope = scope(of: facts)
    return zip(rules, entries).contains { $0.kind.word == kind && Self.applies($1, scope) }
  }

  /// The grant of access where there are no rules to ask about it; nil where there are.
  public func unconditionalAccess(callerID: String?, subject: String?, appID: String?, at now: Instant)
    -> Grant?
  {
    guard firstBrake == 0 else { return nil }
    return Grant(
      action: .access, callerID: callerID, subject: subject, appID: appID, phone: nil, receipts: [],
      grantedAt: now)
  }

  /// Begins to ask the rules about a request.
  /// - Parameter isBlocked: Whether an operator has blocked the number of a callback.
  public func evaluation(
    of facts: Facts, asking questions: Evaluation.Questions = .all, isBlocked: Bool = false
  ) -> Evaluation {
    Evaluation(self, facts, questions, isBlocked: isBlocked)
  }

  /// Evaluates the rules on a request if no rule is remote, or `remote` has the result of those.
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

  /// The allowances that a decision on a request may read, for a store that has to fetch them first.
  ///
  /// - Parameter taking: Whether an allowed request is charged. Brakes come last, so their states are not
  ///   needed then: the charge itself decides.
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

  /// The rest of the enforced allowances for a request, in the rules' order. It omits those that the store
  /// did not return, and those by number for a request without one.
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
  /// The actions that a kind can apply to: callbacks only for numbers, and for counts by number.
  var actions: UInt8 {
    switch self {
    case .numbers, .rate(_, key: .phone, _), .quota(_, key: .phone, _), .ownNumber, .consent, .screened:
      Action.callback.bit
    case .hours, .rate, .quota, .addresses, .claims, .field, .remote, .agents: .max
    }
  }
}

/// Some of the names that rules tell apart, a bit each.
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
