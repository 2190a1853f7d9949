// The part of a rate or quota rule that all its charges and receipts share.

/// The members that all charges and receipts of one rule share.
///
/// This is a class because a request passes it around a dozen times. Each time costs one reference count, not
/// a copy of plan and name.
final class AllowanceRule: Sendable {
  /// The rule's name.
  let name: String
  /// How the rule counts.
  let plan: AllowancePlan
  /// The kind of party that has its own count (setting `key`).
  let scope: AllowanceScope
  /// Whether an exhausted allowance refuses a request; an audit rule only counts.
  let isEnforced: Bool
  /// The decision when the store fails.
  let onStoreFailure: FailurePolicy
  /// The rule's index in its policy.
  let index: Int
  /// The brake that this rule enforces; nil if the rule is not a brake.
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
