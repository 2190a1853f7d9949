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
  /// Of every rule; those that are not asked stay `skipped`.
  private var marks: [Verdict]
  private var charges: [AllowanceCharge] = []
  private var audited: [Denial] = []
  private var denial: Denial?
  /// Whether the rule at `index` waits for an answer.
  private var isWaiting = false

  init(_ policy: Policy, _ facts: Facts) {
    self.policy = policy
    self.facts = facts
    concern = policy.concern(of: facts)
    marks = [Verdict](repeating: .skipped, count: policy.entries.count)
  }

  /// Asks rules until one denies, one has to ask a remote policy, or none is left.
  public mutating func next(_ states: some AllowanceStates) -> Step {
    precondition(!isWaiting, "the remote policy's answer is outstanding")
    let entries = policy.entries
    while index < entries.count, denial == nil {
      if policy.entryActions[index] & concern.action != 0, Policy.concerns(entries[index], concern) {
        let entry = entries[index]
        switch entry.question {
        case .hours(let schedule):
          if schedule.value.isOpen(at: facts.instant.seconds) == true {
            marks[index] = .allow
          } else {
            object(closed(schedule.value, entry.name))
          }
        case .allowance(let rule): ask(rule, states)
        case .numbers(let rule): judge(rule.value.allows(facts.phone), .numberNotAllowed)
        case .addresses(let rule): judge(rule.value.allows(facts.address), .denied)
        case .claims(let rule): judge(rule.value.allows(facts.claims), .denied)
        case .field(let rule): judge(rule.value.allows(facts.fields), .denied)
        case .remote(let rule):
          isWaiting = true
          return .asks(RemoteQuery(rule: entry.name, remote: rule.value, facts: facts))
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
    guard case .remote(let rule) = entry.question else { preconditionFailure("only remote rules wait") }
    switch answer {
    case .allow: marks[index] = .allow
    case .deny(let reason): object(Denial(code: .denied, rule: entry.name, reason: reason))
    case .failed: judge(rule.value.onFailure == .allow, .denied)
    }
    index += 1
  }

  /// Writes down whether the rule at `index` has no objection.
  @inline(__always) private mutating func judge(_ isAllowed: Bool, _ code: DenialCode) {
    if isAllowed {
      marks[index] = .allow
    } else {
      object(Denial(code: code, rule: policy.entries[index].name))
    }
  }

  /// Writes down the objection of the rule at `index`.
  private mutating func object(_ objection: Denial) {
    if policy.entries[index].isEnforced {
      marks[index] = .deny
      denial = objection
    } else {
      marks[index] = .wouldDeny
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

  private func closed(_ schedule: Schedule, _ name: String) -> Denial {
    // The first instant at which this and every other schedule that concerns the request are open.
    let opening = policy.nextOpen(from: facts.instant.seconds, concern, including: schedule)
    return Denial(
      code: .closed, rule: name, nextOpen: opening.map { Instant(seconds: $0) },
      retryAfter: opening.map { max(1, $0 - facts.instant.seconds) })
  }

  // MARK: Allowances

  private mutating func ask(_ rule: AllowanceRule, _ states: some AllowanceStates) {
    let party = rule.scope.party(of: facts)
    let state: AllowanceState?
    switch states.lookup(AllowanceKey(rule: rule.name, party: party)) {
    case .unused: state = nil
    case .state(let kept): state = kept
    case .unavailable:
      if rule.onStoreFailure == .allow {
        marks[index] = .allow
      } else {
        object(.storeUnavailable(rule.name))
      }
      return
    }
    guard case .taken = rule.plan.take(from: state, at: facts.instant) else {
      return object(.exhausted(rule.name, rule.plan, state, at: facts.instant))
    }
    marks[index] = .allow
    if charges.isEmpty { charges.reserveCapacity(policy.mostCharges) }
    charges.append(AllowanceCharge(rule: rule, party: party))
  }
}
