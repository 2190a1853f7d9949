// The part of a rate or quota rule that all its charges and receipts share.

/// What the charges and receipts of one rule have in common.
///
/// An object, because a request hands them on a dozen times: that counts one reference, where a plan and a name would be
/// copied with all they refer to.
final class AllowanceRule: Sendable {
  /// The rule's name.
  let name: String
  /// How is counted.
  let plan: AllowancePlan
  /// By what is counted.
  let scope: AllowanceScope
  /// Whether an exhausted allowance refuses a request; an audit rule only counts.
  let isEnforced: Bool
  /// What happens when the store fails.
  let onStoreFailure: FailurePolicy
  /// The rule's place in its policy.
  let index: Int
  /// The brake that it is; nil for a configured rule.
  let brake: Brake?

  /// Nil for a rule that counts nothing.
  init?(_ rule: Rule, index: Int) {
    switch rule.kind {
    case .rate(let rate, let scope, let onStoreFailure):
      plan = .rate(rate)
      self.scope = scope
      self.onStoreFailure = onStoreFailure
    case .quota(var quota, let scope, let onStoreFailure):
      // How many addresses and numbers there are is up to strangers: five weeks of them would be too many to keep.
      quota.outlastsPeriod = scope != .address && scope != .phone
      plan = .quota(quota)
      self.scope = scope
      self.onStoreFailure = onStoreFailure
    default: return nil
    }
    name = rule.name
    isEnforced = rule.mode == .enforce
    self.index = index
    brake = rule.brake
  }
}
