// What an allowed request takes from its rates and quotas: everything it needs, or nothing.

/// What happens to requests whose allowance the store cannot count.
public enum FailurePolicy: String, CaseIterable, Sendable {
  case deny, allow
}

/// One request to be taken from one allowance.
public struct AllowanceCharge: Sendable {
  let rule: AllowanceRule
  let party: AllowanceParty

  /// Whose allowance.
  public var key: AllowanceKey { AllowanceKey(rule: rule.name, party: party) }
  /// How it is counted.
  public var plan: AllowancePlan { rule.plan }
  /// Whether an exhausted allowance refuses the request; an audit rule only counts.
  public var isEnforced: Bool { rule.isEnforced }
  /// What happens when the store fails.
  public var onStoreFailure: FailurePolicy { rule.onStoreFailure }
  /// The brake whose allowance it is; nil for a configured rule's.
  public var brake: Brake? { rule.brake }
}

/// A request that was taken from an allowance, to give it back should it not be used.
public struct AllowanceReceipt: Sendable {
  let rule: AllowanceRule
  let party: AllowanceParty
  /// What was kept when it had just been taken.
  public let taken: AllowanceState
  /// How many are certainly left; nil where that follows from `taken`. Set where others may hold or have taken some.
  public var left: Int64?

  /// Whose allowance.
  public var key: AllowanceKey { AllowanceKey(rule: rule.name, party: party) }
  /// How it is counted.
  public var plan: AllowancePlan { rule.plan }
  /// The brake whose allowance it is; nil for a configured rule's.
  public var brake: Brake? { rule.brake }

  /// What to tell the caller: no more than is left.
  func count(at now: Instant) -> AllowanceCount {
    let plan = rule.plan
    let count = plan.count(of: taken, at: now)
    guard let left, left < count.remaining else { return count }
    return plan.count(of: plan.state(used: plan.full - left, at: now), at: now)
  }

  /// What is to be kept after giving it back; nil for nothing.
  public func givenBack(to state: AllowanceState?, at now: Instant) -> AllowanceState? {
    plan.giveBack(to: state, taken: taken, at: now)
  }
}

/// What came of taking all charges of a request.
public enum ChargeOutcome: Sendable {
  /// All were taken; the receipts hold what is to be kept.
  case taken([AllowanceReceipt])
  /// Another request was faster: nothing may be kept. The charge at `index` finds its allowance used up; `states` is
  /// what was found of all of them, in their order, nil for what is not waited for.
  case refused(index: Int, states: [AllowanceState?])
  /// The store failed; nothing was taken.
  case unavailable
}

extension [AllowanceCharge] {
  /// Takes every charge from the states that are kept, for a store to call while it holds them.
  ///
  /// A store reads the states of all keys and locks them, calls this, and writes the receipts' states, or
  /// nothing when it is refused. An audit rule's exhausted allowance is left as it is and refuses nothing.
  ///
  /// - Parameter states: what is kept for each charge's key, in their order.
  public func take(from states: [AllowanceState?], at now: Instant) -> ChargeOutcome {
    precondition(states.count == count, "a state for each charge")
    var receipts: [AllowanceReceipt] = []
    receipts.reserveCapacity(count)
    for index in indices {
      let rule = self[index].rule
      switch rule.plan.take(from: states[index], at: now) {
      case .taken(let state):
        receipts.append(AllowanceReceipt(rule: rule, party: self[index].party, taken: state))
      case .refused:
        if rule.isEnforced { return .refused(index: index, states: states) }
      }
    }
    return .taken(receipts)
  }
}
