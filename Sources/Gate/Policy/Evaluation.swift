// Asks the rules about one request in order, and pauses where a remote policy must be asked.

import Platform

/// Asking a policy about one request.
///
/// Call `next` until it is decided; when it asks a remote policy, give its `answer` and go on. Nothing is taken
/// from an allowance here: an allowed decision names what there is to take.
public struct Evaluation: Sendable {
  /// The next step.
  public enum Step: Sendable {
    /// The rules have decided.
    case decided(Decision)
    /// Send a query to a remote policy. Pass its result to `answer`, or `failed` if there is none.
    case asks(RemoteQuery)
    /// Verify the proof in the request, and pass the result to `answer`.
    case proves(isEnforced: Bool)
    /// Get the verdict on the number, and pass it to `answer`. Everything else allows the request.
    case screens(ScreeningQuery)
  }

  /// Which rules are asked.
  public enum Questions: Sendable {
    /// All that concern the request.
    case all
    /// All but limits and brakes: the request takes nothing, as an appointment that is moved, or its allowances were taken before,
    /// as those of a token that is claimed.
    case besideAllowances
    /// What is judged again when an appointment is due: opening hours, numbers and remote policies. Everything else was judged when
    /// it was booked, and its allowances were taken then.
    case whenDue
  }

  private let policy: Policy
  private let questions: Questions
  /// One reference instead of a dozen to hand on.
  private let held: Policy.Held<Facts>
  private let scope: Policy.RequestScope
  private var index = 0
  /// Of every rule that the request may concern; those that are not asked stay `skipped`.
  private var marks: [Verdict]
  private var charges: [AllowanceCharge] = []
  private var audited: [Denial] = []
  private var denial: Denial?
  /// Whether there is a denial: looking at that one copies nothing.
  private var isDenied = false
  /// Whether the rule at `index` waits for an answer.
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
    // Appended, since `[Verdict](repeating:count:)` asks the runtime for the type of its storage each time.
    var skipped: [Verdict] = []
    skipped.append(
      contentsOf: repeatElement(.skipped, count: policy.verdictCount(scope, isBlocked: isBlocked)))
    marks = skipped
  }

  /// Asks rules until one denies, one has to ask a remote policy, or none is left.
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
    // Only a refusal pays for saying how long to wait. The limit on lookups knows its own time.
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

  /// Takes the result of the query that `next` returned.
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

  /// Takes the result of judging the proof that `next` asked for. If that is not available, the rule stays skipped: answer so for a rule in
  /// audit mode only.
  public mutating func answer(_ answer: NumberProofAnswer) {
    precondition(isWaiting, "an answer without a question")
    isWaiting = false
    proof = answer
    judge(answer)
    index += 1
  }

  /// Takes the verdict that `next` asked for.
  public mutating func answer(_ answer: ScreeningAnswer) {
    precondition(isWaiting, "an answer without a question")
    isWaiting = false
    judge(answer)
  }

  /// Applies the verdict on the number to the rules that need it. They come last.
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

  /// Has the proof decide about the rule at `index`.
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

  /// Evaluates the built-in rules for callbacks: first the ones about numbers, then the brakes. Brakes come
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
      // A lookup alone is charged to the limit on lookups.
      if questions == .all, index < policy.charged.endIndex { ask(states) }
      index += 1
    }
  }

  /// The index of the verdict of the rule at `index`.
  private var verdictIndex: Int { policy.verdictIndex(of: index, among: marks.count) }

  /// Writes down the objection of the rule at `index`.
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

  /// The objection of the opening hours at `index`.
  private func closed() -> Denial {
    let entry = policy.entries[index]
    // The first instant at which this and every other schedule that concerns the request are open.
    let opening = policy.nextOpen(from: facts.opening.seconds, policy.hours(scope, including: index))
    // An appointment for the same time stays refused, however long its client waits.
    let wait = facts.at == nil ? opening.map { max(1, $0.subtractingClamped(facts.instant.seconds)) } : nil
    return Denial(
      code: .closed, rule: entry.name, nextOpen: opening.map { Instant(seconds: $0) }, retryAfter: wait)
  }

  // MARK: Allowances

  /// Looks at the allowance of the rule at `index`.
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

  /// Has nothing against the request, which takes one from the allowance of the rule at `index`.
  private mutating func charge(_ rule: AllowanceRule, _ party: AllowanceParty) {
    marks[verdictIndex] = .allow
    if charges.isEmpty { charges.reserveCapacity(policy.mostCharges) }
    charges.append(AllowanceCharge(rule: rule, party: party))
  }
}

extension Decision {
  /// The decision on the same request with the store's states. Remote policies are not asked again: their answers stand.
  ///
  /// A refusal stays as it is. States refuse what was allowed, or allow it too, so no policy can come up that was not asked.
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
  /// Takes the answer that an earlier decision on the same request got, or skips the rule as that one did.
  fileprivate mutating func repeatAnswer(of earlier: Decision) {
    if let known = earlier.answers[index] { answer(known) } else { skip() }
  }
}

extension Evaluation.Questions {
  /// Whether a rule is asked.
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
