// The rules being asked about one request, one after the other, with a pause wherever a remote policy is asked.

/// Asking a policy about one request.
///
/// Call `next` until it is decided; when it asks a remote policy, give its `answer` and go on. Nothing is taken
/// from an allowance here: an allowed decision names what there is to take.
public struct Evaluation: Sendable {
  /// What is next.
  public enum Step: Sendable {
    /// The rules have decided.
    case decided(Decision)
    /// A remote policy has to be asked; `answer` takes what it says, `failed` if nothing.
    case asks(RemoteQuery)
  }

  private let policy: Policy
  private let facts: Facts
  private let concern: Policy.Concern
  private var index = 0
  private var marks: [Verdict] = []
  private var charges: [AllowanceCharge] = []
  private var audited: [Denial] = []
  private var denial: Denial?
  /// Whether the rule at `index` waits for an answer.
  private var isWaiting = false

  init(_ policy: Policy, _ facts: Facts) {
    self.policy = policy
    self.facts = facts
    concern = policy.concern(of: facts)
    marks.reserveCapacity(policy.entries.count + 1)
  }

  /// Asks rules until one denies, one has to ask a remote policy, or none is left.
  public mutating func next(_ states: some AllowanceStates) -> Step {
    precondition(!isWaiting, "the remote policy's answer is outstanding")
    let entries = policy.entries
    while index < entries.count {
      let entry = entries[index]
      if denial != nil || !Policy.concerns(entry, concern) {
        marks.append(.skipped)
      } else {
        switch entry.kind {
        case .hours(let schedule): note(hours(schedule, entry.name))
        case .rate(let rate, let key, let onFailure):
          note(allowance(.rate(rate), key, onFailure, entry, states))
        case .quota(let quota, let key, let onFailure):
          note(allowance(.quota(quota), key, onFailure, entry, states))
        case .numbers(let rule):
          note(rule.allows(facts.phone) ? nil : Denial(code: .numberNotAllowed, rule: entry.name))
        case .addresses(let rule):
          note(rule.allows(facts.address) ? nil : Denial(code: .denied, rule: entry.name))
        case .claims(let rule):
          note(rule.allows(facts.claims) ? nil : Denial(code: .denied, rule: entry.name))
        case .field(let rule): note(rule.allows(facts.fields) ? nil : Denial(code: .denied, rule: entry.name))
        case .remote(let rule):
          isWaiting = true
          return .asks(RemoteQuery(rule: entry.name, remote: rule, facts: facts))
        }
      }
      index += 1
    }
    return .decided(decision())
  }

  /// Takes what the remote policy said that `next` asked for.
  public mutating func answer(_ answer: RemoteAnswer) {
    precondition(isWaiting, "nothing was asked")
    isWaiting = false
    let entry = policy.entries[index]
    guard case .remote(let rule) = entry.kind else { preconditionFailure("only remote rules wait") }
    switch answer {
    case .allow: note(nil)
    case .deny(let reason): note(Denial(code: .denied, rule: entry.name, reason: reason))
    case .failed: note(rule.onFailure == .allow ? nil : Denial(code: .denied, rule: entry.name))
    }
    index += 1
  }

  /// Writes down what the rule at `index` said.
  private mutating func note(_ objection: Denial?) {
    guard let objection else {
      marks.append(.allow)
      return
    }
    if policy.entries[index].isEnforced {
      marks.append(.deny)
      denial = objection
    } else {
      marks.append(.wouldDeny)
      audited.append(objection)
    }
  }

  /// The built-in rule and the sum of it all.
  private mutating func decision() -> Decision {
    if policy.asksDefaultNumbers(concern) {
      if denial != nil {
        marks.append(.skipped)
      } else if let phone = facts.phone, NumberRanges.refuses(phone) {
        marks.append(.deny)
        denial = Denial(code: .numberNotAllowed, rule: Rule.defaultNumbers)
      } else {
        marks.append(.allow)
      }
    }
    let outcome: Decision.Outcome =
      if let denial { .deny(denial) } else { .allow(Clearance(charges: charges, facts: facts)) }
    return Decision(outcome: outcome, audited: audited, policy: policy, marks: marks)
  }

  // MARK: Hours

  private func hours(_ schedule: Schedule, _ name: String) -> Denial? {
    guard schedule.isOpen(at: facts.instant.seconds) != true else { return nil }
    // The first instant at which this and every other schedule that concerns the request are open.
    let opening = policy.nextOpen(from: facts.instant.seconds, concern, including: schedule)
    return Denial(
      code: .closed, rule: name, nextOpen: opening.map { Instant(seconds: $0) },
      retryAfter: opening.map { max(1, $0 - facts.instant.seconds) })
  }

  // MARK: Allowances

  private mutating func allowance(
    _ plan: AllowancePlan, _ scope: AllowanceScope, _ onFailure: FailurePolicy, _ entry: Policy.Entry,
    _ states: some AllowanceStates
  ) -> Denial? {
    let key = AllowanceKey(rule: entry.name, party: scope.party(of: facts))
    let state: AllowanceState?
    switch states.lookup(key) {
    case .unused: state = nil
    case .state(let kept): state = kept
    case .unavailable: return onFailure == .allow ? nil : .storeUnavailable(entry.name)
    }
    guard case .taken = plan.take(from: state, at: facts.instant) else {
      return .exhausted(entry.name, plan, state, at: facts.instant)
    }
    if charges.isEmpty { charges.reserveCapacity(policy.mostCharges) }
    charges.append(
      AllowanceCharge(
        key: key, plan: plan, isEnforced: entry.isEnforced, onStoreFailure: onFailure, ruleIndex: index))
    return nil
  }
}
