// Explains to operators why each rule reached its verdict. Reasons are computed only when they are shown or
// logged.

import Documents
import Platform

/// The values that led to a rule's verdict, or why the rule was skipped.
public struct RuleReason: Hashable, Sendable {
  /// The reasons for which a rule is not evaluated.
  public enum Skip: String, CaseIterable, Sendable {
    /// The rule is off, or does not apply to the request.
    case notApplicable = "not_applicable"
    /// The rule applies but gave no verdict: another rule had already refused the request, the number was not
    /// looked up, or a rule in audit mode got no answer.
    case notReached = "not_reached"

    /// The words that operators read.
    public var words: String {
      switch self {
      case .notApplicable: "not applicable"
      case .notReached: "not reached"
      }
    }
  }

  /// The reason for which the rule was not evaluated; nil if it was evaluated.
  public let skip: Skip?
  /// The reason in words. Phone numbers of the request are masked.
  public let text: String

  public init(skip: Skip? = nil, text: String) {
    self.skip = skip
    self.text = text
  }
}

extension Decision {
  /// The reason for each rule's verdict, in the order of `verdicts`.
  ///
  /// - Parameters:
  ///   - facts: The facts of the decision.
  ///   - states: The states of the allowances at the time of the decision.
  public func reasons(of facts: Facts, states: some AllowanceStates) -> [RuleReason] {
    let scope = policy.scope(of: facts)
    let refusal = marks.firstIndex(of: .deny)
    return marks.indices.map { verdict in
      let index = policy.index(at: verdict, among: marks.count)
      guard marks[verdict] == .skipped else {
        if index == nil, isBlocked { return RuleReason(text: Denial.blocked.cause ?? "") }
        let evidence = policy.evidence(
          at: index, facts, states, index.flatMap { answers[$0] }, proof, screening)
        return RuleReason(text: policy.reason(at: index, facts, evidence, .shown))
      }
      if let text = policy.exemption(at: index, scope) {
        return RuleReason(skip: .notApplicable, text: text)
      }
      let isOfLookup = index.map { policy.screened.contains($0) || $0 == policy.lookups?.index } ?? false
      guard let refusal, refusal < verdict || isOfLookup else {
        guard !isOfLookup else { return RuleReason(skip: .notReached, text: ScreenedRule.unasked) }
        return RuleReason(skip: .notReached, text: "too many queries wait for the policy")
      }
      return RuleReason(skip: .notReached, text: "\(verdicts[refusal].rule) refused the request")
    }
  }
}

extension Policy {
  /// The reason for a rule's refusal, for a log: without the values of claims and headers.
  /// - Returns: Nil if no rule of this policy refused.
  public func reason(for denial: Denial, of facts: Facts) -> String? {
    guard let rule = denial.rule else { return nil }
    let index = entries.firstIndex { $0.name == rule }
    guard index != nil || rule == Rule.defaultNumbers || rule == Rule.blocked else { return nil }
    let evidence: Evidence =
      switch (denial.code, denial.status, denial.answer) {
      case _ where denial.cause != nil: .cause(denial.cause ?? "")
      case (.storeUnavailable, _, _): .storeUnavailable
      case (_, let status?, _): .count(status.count)
      case (_, _, let answer?): .answer(answer)
      default: .none
      }
    return reason(at: index, facts, evidence, .hidden)
  }

  /// The values besides the facts that a rule compared.
  fileprivate enum Evidence {
    case none
    case count(AllowanceCount)
    case storeUnavailable
    case answer(RemoteAnswer)
    case proof(NumberProofAnswer)
    case screening(ScreeningAnswer?)
    /// The cause that the denial itself states.
    case cause(String)
  }

  fileprivate func evidence(
    at index: Int?, _ facts: Facts, _ states: some AllowanceStates, _ answer: RemoteAnswer?,
    _ proof: NumberProofAnswer?, _ screening: ScreeningAnswer?
  ) -> Evidence {
    if let answer { return .answer(answer) }
    if let proof, let index, case .ownNumber = entries[index].question { return .proof(proof) }
    if let index, case .screened = entries[index].question { return .screening(screening) }
    guard let index, let rule = entries[index].allowance else { return .none }
    switch states.lookup(AllowanceKey(rule: rule.name, party: rule.scope.party(of: facts))) {
    case .unused: return .count(rule.plan.count(of: nil, at: facts.instant))
    case .state(let state): return .count(rule.plan.count(of: state, at: facts.instant))
    case .unavailable: return .storeUnavailable
    }
  }

  /// The reason for the verdict of the rule at an index. A nil index stands for the built-in rule about
  /// numbers.
  fileprivate func reason(
    at index: Int?, _ facts: Facts, _ evidence: Evidence, _ values: ValueDisclosure
  ) -> String {
    if case .cause(let words) = evidence { return words }
    guard let index else { return NumbersRule.defaults.reason(facts.phone) }
    switch entries[index].question {
    case .hours(let schedule):
      let time = facts.opening.seconds
      return schedule.value.reason(
        at: time, opening: nextOpen(from: time, hours(scope(of: facts), including: index)))
    case .allowance(let rule):
      guard case .count(let count) = evidence else {
        guard rule.brake == nil else { return "the database is unavailable, so the safety limit refuses" }
        return "the database is unavailable; on_store_failure is \(rule.onStoreFailure.rawValue)"
      }
      return rule.reason(count, facts)
    case .numbers(let rule): return rule.value.reason(facts.phone)
    case .addresses(let rule): return rule.value.reason(facts.address)
    case .claims(let rule): return rule.value.reason(facts.claims, values)
    case .field(let rule): return rule.value.reason(facts.fields, values)
    case .agents(let rule): return rule.value.reason(facts)
    case .ownNumber(let rule):
      guard case .proof(let answer) = evidence else { return rule.value.reason(facts, nil) }
      return rule.value.reason(facts, answer)
    case .consent(let rule): return rule.value.reason(facts)
    case .screened(let rule):
      guard case .screening(let answer) = evidence else { return rule.value.reason(nil) }
      return rule.value.reason(answer)
    case .remote(let rule):
      guard case .answer(let answer) = evidence else { return "the policy got no query" }
      return answer.reason(rule.value.onFailure)
    }
  }

  /// Why the rule at an index does not apply to a request; nil if it applies.
  fileprivate func exemption(at index: Int?, _ scope: RequestScope) -> String? {
    guard let index, !Self.applies(entries[index], scope) else { return nil }
    let entry = entries[index]
    guard let rule = rules.first(where: { $0.name == entry.name }) else {
      return "it does not apply to this request"
    }
    guard rule.mode != .off else { return "the rule is off" }
    guard entry.actions & scope.action != 0 else {
      let actions = Action.allCases.filter { entry.actions & $0.bit != 0 }.map(\.rawValue)
      return "it applies only to \(listed(actions))"
    }
    if let callers = rule.callers, entry.callers?.contains(scope.caller) == false {
      return "it applies only to \(callers.count == 1 ? "caller" : "callers") \(listed(callers))"
    }
    let apps = rule.apps ?? []
    return "it applies only to \(apps.count == 1 ? "app" : "apps") \(listed(apps))"
  }
}

extension AllowanceRule {
  /// The reason for the verdict: the count, the limit, and when more requests are allowed.
  fileprivate func reason(_ count: AllowanceCount, _ facts: Facts) -> String {
    let now = facts.instant
    let user = scope.words(of: facts)
    switch plan {
    case .rate(let rate):
      let text =
        "\(rate.burst - min(count.remaining, rate.burst)) of \(rate.burst) at once used by \(user), "
        + "at \(rate.limit) per \(spanText(nanoseconds: rate.per))"
      return count.remaining > 0 ? text : text + "; the next is free in \(count.reset) s"
    case .quota(let quota):
      let text =
        "\(quota.limit - count.remaining) of \(quota.limit) used by \(user) this \(quota.period.rawValue) "
        + "(\(quota.zone.name))"
      guard count.remaining == 0 else { return text }
      return text
        + "; the next \(quota.period.rawValue) begins \(quota.zone.moment(now.seconds.addingClamped(count.reset)))"
    }
  }
}

extension AllowanceScope {
  /// The party that a request is counted for, in words.
  fileprivate func words(of facts: Facts) -> String {
    switch party(of: facts) {
    case .caller(let id): "caller \(id)"
    case .installation(let id): "installation \(id)"
    case .subject:
      facts.isOwnerItself
        ? "caller \(facts.owner)"
        : "subject \(quoted(facts.effectiveSubject.hidingPhoneNumbers)) of caller \(facts.owner)"
    case .app(let id): "app \(id)"
    case .address(let address): address.isV4 ? "\(address)" : "\(address)/64"
    case .phone(let number): "\(number)"
    case .global: "all callers"
    case .unknown:
      switch self {
      case .app: "requests without an app"
      case .address: "requests without a known address"
      case .phone, .caller, .subject, .installation, .global: "requests without a number"
      }
    }
  }
}

extension RemoteAnswer {
  /// The reason for the verdict: the policy's decision, or why it gave none.
  fileprivate func reason(_ onFailure: FailurePolicy) -> String {
    switch self {
    case .allow: "the policy allows it"
    case .deny(nil): "the policy refuses it"
    case .deny(let reason?): "the policy refuses it: \(quoted(reason.hidingPhoneNumbers, limit: 256))"
    case .failed(let cause): "the policy gave no decision: \(cause); on_failure is \(onFailure.rawValue)"
    }
  }
}
