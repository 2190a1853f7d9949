// Computes how long a refused client must wait, for all rules that time can satisfy.

import Platform

/// The rules a request waits for: opening hours, and allowances as they are kept now.
struct Waiting {
  /// How often a time is tried and moved on before the rules are taken to exclude each other for ever.
  private static let mostAttempts = 4000

  private let policy: Policy
  /// The indices of the opening hours; none for an appointment, whose own time has to be open.
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

  /// The whole seconds until none of them refuses; nil for never, or for a time beyond the tables.
  ///
  /// Each rule moves the time to the first at which it does not refuse, until no rule moves it. No rule moves
  /// it further than it must, so the result is the first time at which all of them allow the request.
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
  /// The wait of a request that the rules refuse now.
  func waiting(_ facts: Facts, _ scope: RequestScope, _ states: some AllowanceStates) -> Waiting {
    var allowances: [(plan: AllowancePlan, state: AllowanceState?)] = []
    for entry in entries where entry.isEnforced && Self.applies(entry, scope) {
      guard case .allowance(let rule) = entry.question else { continue }
      let charge = AllowanceCharge(rule: rule, party: rule.scope.party(of: facts))
      // The store did not return a state, so there is no time to wait for. An unused allowance needs no wait.
      guard case .state(let state) = states.lookup(charge.key) else { continue }
      allowances.append((rule.plan, state))
    }
    return Waiting(self, facts, allowances)
  }
}

extension Decision {
  /// Whether it is a refusal that time alone may end.
  public var waits: Bool { denial?.passes ?? false }

  /// Looks again how long a refused request waits, where more is known of the allowances than when it was decided.
  public mutating func wait(_ facts: Facts, _ states: some AllowanceStates) {
    guard case .deny(var refusal) = outcome, refusal.passes else { return }
    refusal.wait(for: policy.waiting(facts, policy.scope(of: facts), states), from: facts.instant)
    outcome = .deny(refusal)
  }

  /// The wait of a request whose charges were refused.
  func waiting(_ clearance: Clearance, _ states: [AllowanceState?]) -> Waiting {
    var allowances: [(plan: AllowancePlan, state: AllowanceState?)] = []
    for (charge, state) in zip(clearance.charges, states) where charge.isEnforced {
      allowances.append((charge.plan, state))
    }
    return Waiting(policy, clearance.facts, allowances)
  }
}

extension Denial {
  /// Whether waiting helps, as far as the rule that refused is concerned.
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
