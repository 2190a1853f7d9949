// Computes how long a refused client must wait until opening hours, rates and quotas all allow its request.

import Platform

/// The rules that make a request wait: opening hours, and allowances with their current states.
struct Waiting {
  /// The number of attempts after which the rules count as never satisfied at the same time.
  private static let mostAttempts = 4000

  private let policy: Policy
  /// The indices of the opening hours. Empty for an appointment: its own time must be open, and waiting does
  /// not change that.
  private let hours: [Int]
  private let allowances: [(plan: AllowancePlan, state: AllowanceState?)]

  init(
    _ policy: Policy, _ facts: Facts,
    _ allowances: [(plan: AllowancePlan, state: AllowanceState?)]
  ) {
    self.policy = policy
    hours = facts.at == nil ? policy.hours(policy.scope(of: facts)) : []
    self.allowances = allowances
  }

  /// The whole seconds until none of these rules refuses; nil if there is no such time, or if it is outside
  /// the zone tables or not found in 4,000 attempts.
  ///
  /// Each rule moves the time forward to the first second at which it does not refuse, until no rule moves
  /// it. No rule moves it further than necessary, so the result is the first time at which all of them allow
  /// the request.
  func seconds(from now: Instant) -> Int64? {
    var wait: Int64 = 0
    for _ in 0..<Self.mostAttempts {
      let before = wait
      guard let opening = policy.nextOpen(from: now.seconds.addingClamped(wait), hours) else { return nil }
      wait = opening.subtractingClamped(now.seconds)
      for (plan, state) in allowances {
        let then = now.advanced(by: .seconds(wait))
        if case .refused(let more) = plan.take(from: state, at: then) {
          wait = wait.addingClamped(more)
        }
      }
      if wait == before { return wait }
    }
    return nil
  }
}

extension Policy {
  /// The rules that a refused request waits for, with the states of their allowances.
  func waiting(_ facts: Facts, _ scope: RequestScope, _ states: some AllowanceStates) -> Waiting {
    var allowances: [(plan: AllowancePlan, state: AllowanceState?)] = []
    for entry in entries where entry.isEnforced && Self.applies(entry, scope) {
      guard case .allowance(let rule) = entry.question else { continue }
      let charge = AllowanceCharge(rule: rule, party: rule.scope.party(of: facts))
      // If the store returned no state, the wait is unknown. An unused allowance needs no wait.
      guard case .state(let state) = states.lookup(charge.key) else { continue }
      allowances.append((rule.plan, state))
    }
    return Waiting(self, facts, allowances)
  }
}

extension Decision {
  /// Whether the decision is a refusal that may end with time alone.
  public var waits: Bool { denial?.passes ?? false }

  /// Recomputes the retry time of a refused request from states that were not known when the decision was
  /// made.
  public mutating func wait(_ facts: Facts, _ states: some AllowanceStates) {
    guard case .deny(var refusal) = outcome, refusal.passes else { return }
    refusal.wait(for: policy.waiting(facts, policy.scope(of: facts), states), from: facts.instant)
    outcome = .deny(refusal)
  }

  /// The rules that a request waits for after the store refused its charges.
  func waiting(_ clearance: Clearance, _ states: [AllowanceState?]) -> Waiting {
    var allowances: [(plan: AllowancePlan, state: AllowanceState?)] = []
    for (charge, state) in zip(clearance.charges, states) where charge.isEnforced {
      allowances.append((charge.plan, state))
    }
    return Waiting(policy, clearance.facts, allowances)
  }
}

extension Denial {
  /// Whether waiting can satisfy the rule that refused.
  var passes: Bool {
    switch code {
    case .closed, .rateLimited, .quotaExhausted: retryAfter != nil
    case .denied, .numberNotAllowed, .storeUnavailable, .noAgents, .stopped, .unauthenticated, .unknownApp,
      .numberNotProven, .consentRequired, .overloaded, .upstreamUnavailable:
      false
    }
  }

  /// Sets the retry time of the refusal to satisfy all rules. If they never agree, the refusing rule's own
  /// time stays.
  mutating func wait(for waiting: Waiting, from now: Instant) {
    guard retryAfter != nil, let seconds = waiting.seconds(from: now) else { return }
    retryAfter = max(1, seconds)
  }
}
