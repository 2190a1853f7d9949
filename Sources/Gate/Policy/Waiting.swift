// Computes how long a refused client must wait, for all rules that time can satisfy.

/// The rules a request waits for: opening hours, and allowances as they are kept now.
struct Waiting {
  /// How often a time is tried and moved on before the rules are taken to exclude each other for ever.
  private static let mostAttempts = 4000

  private let policy: Policy
  /// The places of the opening hours.
  private let hours: [Int]
  private let allowances: [(plan: AllowancePlan, state: AllowanceState?)]

  init(
    _ policy: Policy, _ concern: Policy.Concern,
    _ allowances: [(plan: AllowancePlan, state: AllowanceState?)]
  ) {
    self.policy = policy
    hours = policy.hours(concern)
    self.allowances = allowances
  }

  /// After how many whole seconds none of them refuses; nil where that is never, or further off than can be said.
  ///
  /// Each rule moves the time to the first at which it does not refuse, until none moves it any more. Nobody moves it
  /// further than they must, so it is the first at which all of them let the request pass.
  func seconds(from now: Instant) -> Int64? {
    var wait: Int64 = 0
    for _ in 0..<Self.mostAttempts {
      let before = wait
      guard let opening = policy.nextOpen(from: now.seconds + wait, hours) else { return nil }
      wait = opening - now.seconds
      for (plan, state) in allowances {
        let then = Instant(seconds: now.seconds + wait, nanoseconds: now.nanoseconds)
        if case .refused(let more) = plan.take(from: state, at: then) { wait += more }
      }
      if wait == before { return wait }
    }
    return nil
  }
}

extension Policy {
  /// What a request waits for that the rules refuse at its instant.
  func waiting(_ facts: Facts, _ concern: Concern, _ states: some AllowanceStates) -> Waiting {
    var allowances: [(plan: AllowancePlan, state: AllowanceState?)] = []
    for entry in entries where entry.isEnforced && Self.concerns(entry, concern) {
      guard case .allowance(let rule) = entry.question else { continue }
      let charge = AllowanceCharge(rule: rule, party: rule.scope.party(of: facts))
      states.waits(for: charge)
      // Of what a store cannot tell nothing can be said, and what is unused is not waited for.
      guard case .state(let state) = states.lookup(charge.key) else { continue }
      allowances.append((rule.plan, state))
    }
    return Waiting(self, concern, allowances)
  }
}

extension Decision {
  /// Whether it is a refusal that time alone may end.
  public var waits: Bool { denial?.passes ?? false }

  /// Looks again how long a refused request waits, where more is known of the allowances than when it was decided.
  public mutating func wait(_ facts: Facts, _ states: some AllowanceStates) {
    guard case .deny(var refusal) = outcome, refusal.passes else { return }
    refusal.wait(for: policy.waiting(facts, policy.concern(of: facts), states), from: facts.instant)
    outcome = .deny(refusal)
  }

  /// What a request waits for whose charges were refused.
  func waiting(_ clearance: Clearance, _ states: [AllowanceState?]) -> Waiting {
    var allowances: [(plan: AllowancePlan, state: AllowanceState?)] = []
    for (charge, state) in zip(clearance.charges, states) where charge.isEnforced {
      allowances.append((charge.plan, state))
    }
    return Waiting(policy, policy.concern(of: clearance.facts), allowances)
  }
}

extension Denial {
  /// Whether waiting helps, as far as the rule that refused is concerned.
  var passes: Bool {
    switch code {
    case .closed, .rateLimited, .quotaExhausted: true
    case .denied, .numberNotAllowed, .storeUnavailable, .stopped, .unauthenticated: false
    }
  }

  /// Lets the refusal speak for all rules. Where they never agree, the one that refused still says what it knows.
  mutating func wait(for waiting: Waiting, from now: Instant) {
    guard retryAfter != nil, let seconds = waiting.seconds(from: now) else { return }
    retryAfter = max(1, seconds)
  }
}
