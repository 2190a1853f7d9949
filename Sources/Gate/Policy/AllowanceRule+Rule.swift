// Creates the counting part (`AllowanceRule`) of a configured rate or quota rule.

extension AllowanceRule {
  /// Creates the counting part of a rule; nil unless the rule is a rate or quota.
  convenience init?(_ rule: Rule, index: Int) {
    let plan: AllowancePlan
    let counted: (scope: AllowanceScope, onStoreFailure: FailurePolicy)
    switch rule.kind {
    case .rate(let rate, let scope, let onStoreFailure):
      plan = .rate(rate)
      counted = (scope, onStoreFailure)
    case .quota(var quota, let scope, let onStoreFailure):
      // Anyone can send requests with many different addresses and numbers. Storing each for five weeks would
      // take too much space.
      quota.outlastsPeriod = scope != .address && scope != .phone
      plan = .quota(quota)
      counted = (scope, onStoreFailure)
    case .hours, .numbers, .addresses, .claims, .field, .remote, .agents, .ownNumber, .consent,
      .screened:
      return nil
    }
    self.init(
      name: rule.name, plan: plan, scope: counted.scope, isEnforced: rule.mode == .enforce,
      onStoreFailure: counted.onStoreFailure, index: index, brake: rule.brake)
  }
}
