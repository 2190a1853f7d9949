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

  init(
    name: String, plan: AllowancePlan, scope: AllowanceScope, isEnforced: Bool, onStoreFailure: FailurePolicy,
    index: Int, brake: Brake?
  ) {
    self.name = name
    self.plan = plan
    self.scope = scope
    self.isEnforced = isEnforced
    self.onStoreFailure = onStoreFailure
    self.index = index
    self.brake = brake
  }
}
