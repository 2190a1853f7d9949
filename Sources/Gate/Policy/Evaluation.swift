// Evaluates the rules on one request in order, and pauses when it needs a result from outside, such as a
// remote policy's.

import Platform

/// The evaluation of a policy's rules on one request.
///
/// Call `next` until it returns `.decided`. After any other step, pass the result to `answer` and call `next`
/// again. After `.asks` or `.proves` for a rule in audit mode, `skip` continues without a result. An
/// evaluation takes nothing from allowances: an allowed decision lists the charges to take.
public struct Evaluation: Sendable {
  /// The next step.
  public enum Step: Sendable {
    /// The rules have decided.
    case decided(Decision)
    /// Send a query to a remote policy. Pass its result to `answer`, or `failed` if there is none.
    case asks(RemoteQuery)
    /// Verify the proof in the request, and pass the result to `answer`.
    case proves(isEnforced: Bool)
    /// Get the verdict on the number, and pass it to `answer`. All other enforced rules allow the request.
    case screens(ScreeningQuery)
  }

  /// The rules that are evaluated.
  public enum Questions: Sendable {
    /// All rules that apply to the request.
    case all
    /// All rules except rates, quotas, brakes and `screened`. For a request that takes nothing, such as
    /// moving an appointment or repeating a callback, and for one whose allowances were taken earlier, such
    /// as claiming a token.
    case besideAllowances
    /// The rules that are evaluated again when an appointment is due, and when its owner chooses a time in a
    /// dialog: opening hours, numbers (also the built-in rules) and remote policies. All other rules were
    /// evaluated when the appointment was booked, and its allowances were taken then.
    case whenDue
  }

  private let policy: Policy
  private let questions: Questions
  /// The facts, behind one reference, so that passing them around copies one reference instead of a dozen.
  private let held: Policy.Held<Facts>
  private let scope: Policy.RequestScope
  private var index = 0
  /// The verdict of every rule; a rule that is not evaluated stays `.skipped`.
  private var marks: [Verdict]
  private var charges: [AllowanceCharge] = []
  private var audited: [Denial] = []
  private var denial: Denial?
  /// Whether `denial` is set. Reading this flag copies nothing.
  private var isDenied = false
  /// Whether `next` returned a step whose result is still missing.
  private var isWaiting = false
  /// The results of remote policies, by the index of their rules.
  private var answers: [Int: RemoteAnswer] = [:]
  /// The result of verifying the proof, for all rules that need it.
  fileprivate var proof: NumberProofAnswer?
  private var ownership: NumberResult?
  /// The verdict on the number, for all rules that need it.
  private var screening: ScreeningAnswer?

  /// Whether an operator has blocked the number.
  private let isBlocked: Bool

  private var facts: Facts { held.value }

  init(_ policy: Policy, _ facts: Facts, _ questions: Questions, isBlocked: Bool = false) {
    self.policy = policy
    self.questions = questions
    self.isBlocked = isBlocked
    scope = policy.scope(of: facts)
    held = Policy.Held(facts)
    // Append to an empty array: `[Verdict](repeating:count:)` asks the runtime for the type of its storage
    // each time.
    var skipped: [Verdict] = []
    skipped.append(
      contentsOf: repeatElement(.skipped, count: policy.verdictCount(scope, isBlocked: isBlocked)))
    marks = skipped
  }

  /// Evaluates rules until an enforced rule denies, a rule needs a result from outside, or none is left.
  public mutating func next(_ states: some AllowanceStates) -> Step {
    precondition(!isWaiting, "the remote policy's answer is outstanding")
    while index < policy.firstBrake, !isDenied {
      if policy.entryActions[index] & scope.action != 0, questions.include(policy.entries[index]) {
        switch policy.entries[index].finding(held, scope) {
        case .passedOver: break
        case .allows: marks[index] = .allow
        case .denies: object(Denial(code: .denied, rule: policy.entries[index].name))
        case .numberNotAllowed: object(Denial(code: .numberNotAllowed, rule: policy.entries[index].name))
        case .noAgents: object(.noAgents(policy.entries[index].name))
        case .owns(.proof):
          guard let proof else {
            isWaiting = true
            return .proves(isEnforced: policy.entries[index].isEnforced)
          }
          judge(proof)
        case .owns(let result):
          ownership = result
          if result == .missing { objectToNumber(OwnNumberRule.missing) } else { marks[index] = .allow }
        case .lacksConsent(let fault):
          guard case .consent(let rule) = policy.entries[index].question else {
            preconditionFailure("a consent without its rule")
          }
          object(.consentRequired(fault, rule.value, rule: policy.entries[index].name))
        case .closed: object(closed())
        case .counts: ask(states)
        case .asks:
          guard case .remote(let rule) = policy.entries[index].question else {
            preconditionFailure("evaluation of a query without a remote rule")
          }
          isWaiting = true
          return .asks(
            RemoteQuery(
              rule: policy.entries[index].name, isEnforced: policy.entries[index].isEnforced,
              remote: rule.value, facts: facts))
        }
      }
      index += 1
    }
    if marks.count > policy.firstBrake, !isDenied, screening == nil { askBuiltIn(states) }
    // Compute the retry time only for a refusal. The limit on lookups sets its own.
    if isDenied, screening == nil, var refusal = denial, refusal.passes {
      refusal.wait(for: policy.waiting(facts, scope, states), from: facts.instant)
      denial = refusal
    }
    if screening == nil, !policy.screened.isEmpty, !isDenied, questions == .all,
      let query = policy.screening(of: facts, scope)
    {
      guard let known = facts.number?.screening else {
        isWaiting = true
        return .screens(query)
      }
      judge(.found(known))
    }
    let outcome: Decision.Outcome =
      if let denial { .deny(denial) } else { .allow(Clearance(charges: charges, held: held)) }
    return .decided(
      Decision(
        outcome: outcome, audited: audited, policy: policy, marks: marks, answers: answers, proof: proof,
        ownership: ownership, screening: screening, isBlocked: isBlocked))
  }

  /// Applies the result of the query that `next` returned.
  public mutating func answer(_ answer: RemoteAnswer) {
    precondition(isWaiting, "an answer without a query")
    isWaiting = false
    let entry = policy.entries[index]
    guard case .remote(let rule) = entry.question else {
      preconditionFailure("a rule that waits and is not remote")
    }
    answers[index] = answer
    let allows =
      switch answer {
      case .allow: true
      case .deny: false
      case .failed: rule.value.onFailure == .allow
      }
    if allows {
      marks[index] = .allow
    } else {
      object(Denial(code: .denied, rule: entry.name, answer: answer))
    }
    index += 1
  }

  /// Applies the result of verifying the proof, which `next` requested. With `.unavailable` the rule stays
  /// skipped, so pass this only for a rule in audit mode.
  public mutating func answer(_ answer: NumberProofAnswer) {
    precondition(isWaiting, "an answer without a question")
    isWaiting = false
    proof = answer
    judge(answer)
    index += 1
  }

  /// Applies the verdict on the number, which `next` requested.
  public mutating func answer(_ answer: ScreeningAnswer) {
    precondition(isWaiting, "an answer without a question")
    isWaiting = false
    judge(answer)
  }

  /// Applies the verdict on the number to the rules that need it. These rules are evaluated last.
  private mutating func judge(_ answer: ScreeningAnswer) {
    screening = answer
    let end = index
    defer { index = end }
    for screened in policy.screened where !isDenied && Policy.applies(policy.entries[screened], scope) {
      let entry = policy.entries[screened]
      index = screened
      guard case .screened(let rule) = entry.question else {
        preconditionFailure("a verdict without its rule")
      }
      switch answer {
      case .found(.allowed): marks[verdictIndex] = .allow
      case .unasked: break
      case .found(.refused(let setting)):
        object(
          Denial(code: .numberNotAllowed, rule: entry.name, cause: ScreenedRule.refusal(by: setting)))
      case .found(.failed(let cause)):
        if rule.value.onFailure == .allow {
          marks[verdictIndex] = .allow
        } else {
          object(
            Denial(
              code: .upstreamUnavailable, rule: entry.name, retryAfter: Denial.storeRetryAfter, cause: cause))
        }
      case .uncounted(let outcome):
        guard entry.isEnforced, let brake = policy.lookups else { continue }
        index = brake.index
        if case .refused(_, let states) = outcome {
          object(.exhausted(brake, states.first ?? nil, at: facts.instant))
        } else {
          object(.storeUnavailable(brake.name))
        }
      }
    }
  }

  /// Applies the result of verifying the proof to the rule at `index`.
  private mutating func judge(_ answer: NumberProofAnswer) {
    switch answer {
    case .proven(let id, let expires):
      ownership = .proof
      marks[index] = .allow
      guard
        !charges.contains(where: {
          $0.rule.isOfProofs && ($0.isEnforced || !policy.entries[index].isEnforced)
        })
      else { return }
      charges.removeAll { $0.rule.isOfProofs }
      charges += NumberProofLimits.charges(
        id, expires: expires, at: facts.instant, index: index, isEnforced: policy.entries[index].isEnforced)
    case .refused(let cause):
      ownership = .refused
      objectToNumber(cause)
    case .unjudged: marks[index] = .allow
    case .unavailable: ownership = .unavailable
    }
  }

  private mutating func objectToNumber(_ cause: String) {
    guard case .ownNumber(let rule) = policy.entries[index].question else {
      preconditionFailure("a proof without its rule")
    }
    object(.numberNotProven(rule.value, facts, rule: policy.entries[index].name, cause: cause))
  }

  /// Continues without the result of the query that `next` returned. The rule stays skipped. For a rule in
  /// audit mode only.
  public mutating func skip() {
    precondition(isWaiting && !policy.entries[index].isEnforced, "only rules in audit mode can be skipped")
    isWaiting = false
    index += 1
  }

  /// Evaluates the built-in rules for callbacks: first the one about the number, then the brakes. Brakes come
  /// last, so a number that is always refused never gets a time to retry.
  private mutating func askBuiltIn(_ states: some AllowanceStates) {
    if marks.count > policy.entries.count {
      if isBlocked {
        marks[index] = .deny
        denial = .blocked
        isDenied = true
      } else if let phone = held.value.phone, NumberRanges.refuses(phone) {
        marks[index] = .deny
        denial = Denial(code: .numberNotAllowed, rule: Rule.defaultNumbers)
        isDenied = true
      } else {
        marks[index] = .allow
      }
    }
    while index < policy.entries.count, !isDenied {
      // The limit on lookups is left out: a lookup is charged to it, never the request itself.
      if questions == .all, index < policy.charged.endIndex { ask(states) }
      index += 1
    }
  }

  /// The index of the verdict of the rule at `index`.
  private var verdictIndex: Int { policy.verdictIndex(of: index, among: marks.count) }

  /// Records the denial by the rule at `index`: it refuses the request if the rule is enforced, and is only
  /// added to `audited` if the rule is in audit mode.
  private mutating func object(_ objection: Denial) {
    if policy.entries[index].isEnforced {
      marks[verdictIndex] = .deny
      denial = objection
      isDenied = true
    } else {
      marks[verdictIndex] = .wouldDeny
      audited.append(objection)
    }
  }

  // MARK: Hours

  /// The denial by the opening hours at `index`.
  private func closed() -> Denial {
    let entry = policy.entries[index]
    // The first instant at which this schedule and all others that apply to the request are open.
    let opening = policy.nextOpen(from: facts.opening.seconds, policy.hours(scope, including: index))
    // An appointment for the same time stays refused, however long its client waits.
    let wait = facts.at == nil ? opening.map { max(1, $0.subtractingClamped(facts.instant.seconds)) } : nil
    return Denial(
      code: .closed, rule: entry.name, nextOpen: opening.map { Instant(seconds: $0) }, retryAfter: wait)
  }

  // MARK: Allowances

  /// Evaluates the rate or quota rule at `index`.
  private mutating func ask(_ states: some AllowanceStates) {
    guard let rule = policy.entries[index].allowance else {
      preconditionFailure("evaluation of a rate rule without an allowance")
    }
    let party = rule.scope.party(of: held.value)
    let state: AllowanceState?
    switch states.lookup(AllowanceKey(rule: rule.name, party: party)) {
    case .unused: state = nil
    case .state(let kept): state = kept
    case .unavailable:
      if rule.onStoreFailure == .allow {
        marks[verdictIndex] = .allow
      } else {
        object(.storeUnavailable(rule.name))
      }
      return
    }
    guard case .taken = rule.plan.take(from: state, at: held.value.instant) else {
      return object(.exhausted(rule, state, at: facts.instant))
    }
    charge(rule, party)
  }

  /// Allows the request, and adds a charge to the allowance of the rule at `index`.
  private mutating func charge(_ rule: AllowanceRule, _ party: AllowanceParty) {
    marks[verdictIndex] = .allow
    if charges.isEmpty { charges.reserveCapacity(policy.mostCharges) }
    charges.append(AllowanceCharge(rule: rule, party: party))
  }
}

extension Decision {
  /// The decision on the same request with the store's states. Remote policies are not queried again: their
  /// results are reused.
  ///
  /// A refusal is returned unchanged. The store's states can only refuse more than before, so the evaluation
  /// reaches no remote policy that was not queried.
  public func again(_ states: some AllowanceStates) -> Decision {
    guard case .allow(let clearance) = outcome else { return self }
    var evaluation = policy.evaluation(of: clearance.facts)
    evaluation.proof = proof
    while true {
      switch evaluation.next(states) {
      case .decided(let decision): return decision
      case .asks: evaluation.repeatAnswer(of: self)
      case .proves: evaluation.skip()
      case .screens: evaluation.answer(screening ?? .unasked)
      }
    }
  }
}

extension Evaluation {
  /// Applies the remote policy's result from an earlier decision on the same request, or skips the rule if
  /// that decision skipped it.
  fileprivate mutating func repeatAnswer(of earlier: Decision) {
    if let known = earlier.answers[index] { answer(known) } else { skip() }
  }
}

extension Evaluation.Questions {
  /// Whether a rule is evaluated.
  @inline(__always) fileprivate func include(_ entry: Policy.Entry) -> Bool {
    switch self {
    case .all: return true
    case .besideAllowances:
      if case .allowance = entry.question { return false }
      return true
    case .whenDue:
      return switch entry.question {
      case .hours, .numbers, .remote: true
      case .allowance, .addresses, .claims, .field, .agents, .ownNumber, .consent, .screened: false
      }
    }
  }
}
