// Charges an allowed request to all its rates and quotas, or to none.

/// The decision on a request when a rule lacks what it needs, such as the store's count or a remote policy's
/// response.
public enum FailurePolicy: String, CaseIterable, Sendable {
  case deny, allow
}

/// The charge of one request to one allowance.
public struct AllowanceCharge: Sendable {
  let rule: AllowanceRule
  let party: AllowanceParty

  /// The key under which stores save the state of the allowance.
  public var key: AllowanceKey { AllowanceKey(rule: rule.name, party: party) }
  /// How the allowance is counted.
  public var plan: AllowancePlan { rule.plan }
  /// Whether an exhausted allowance refuses the request; an audit rule only counts.
  public var isEnforced: Bool { rule.isEnforced }
  /// The decision when the store fails.
  public var onStoreFailure: FailurePolicy { rule.onStoreFailure }
  /// The brake that the allowance belongs to; nil if its rule is not a brake.
  public var brake: Brake? { rule.brake }
}

/// The receipt for a charge that was taken. With the receipt, the server can give the charge back if the
/// request fails later, for example because no token or call follows.
public struct AllowanceReceipt: Sendable {
  let rule: AllowanceRule
  let party: AllowanceParty
  /// The state right after the charge.
  public let taken: AllowanceState

  /// The key under which stores save the state of the allowance.
  public var key: AllowanceKey { AllowanceKey(rule: rule.name, party: party) }
  /// How the allowance is counted.
  public var plan: AllowancePlan { rule.plan }
  /// The brake that the allowance belongs to; nil if its rule is not a brake.
  public var brake: Brake? { rule.brake }

  /// The remaining requests right after the charge, for the response to the caller.
  func count(at now: Instant) -> AllowanceCount { rule.plan.count(of: taken, at: now) }

  /// The state after giving the charge back; nil if there is no saved state.
  public func givenBack(to state: AllowanceState?, at now: Instant) -> AllowanceState? {
    plan.giveBack(to: state, taken: taken, at: now)
  }
}

/// The outcome of taking all charges of a request.
public enum ChargeOutcome: Sendable {
  /// Every charge was taken, except those of audit rules whose allowance is exhausted. The store saves the
  /// states of the receipts.
  case taken([AllowanceReceipt])
  /// The allowance of the charge at `index` is exhausted, so the store saves nothing. `states` are the states
  /// of all charges in their order, nil for allowances that are unused or need no wait.
  case refused(index: Int, states: [AllowanceState?])
  /// The store failed; nothing was taken.
  case unavailable
}

extension [AllowanceCharge] {
  /// Takes every charge from the saved states. A store calls this while it has locked them.
  ///
  /// A store reads and locks the states of all keys, calls this, and writes the states of the receipts. After
  /// a refusal it writes nothing. The exhausted allowance of an audit rule stays as it is and refuses
  /// nothing.
  ///
  /// - Parameter states: the saved state for each charge's key, in their order.
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
