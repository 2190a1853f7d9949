// Allowances with made-up counts, so that rules can be explained and tested without a store.

public import Documents

/// Allowance states made from counts, such as "30 requests are already used in this rule's window". A count
/// applies to every party of its rule.
public struct CountedStates: AllowanceStates, Sendable {
  private let states: [String: AllowanceState]

  /// Creates the states at an instant. Throws if a rule is unknown or counts nothing, or if a count is out of
  /// range.
  public init(policy: Policy, counts: [String: Int64], at now: Instant) throws(Refusal) {
    var states: [String: AllowanceState] = [:]
    for (name, used) in counts.sorted(by: { $0.key < $1.key }) {
      guard let entry = policy.entries.first(where: { $0.name == name }) else {
        let near = Spelling.nearest(to: name, among: policy.entries.map(\.name))
        throw Refusal(
          at: "counts.\(name)", "there is no rule \(quoted(name))",
          near.map { "did you mean \"\($0)\"?" } ?? "name a rule of the configuration")
      }
      guard let plan = entry.allowance?.plan else {
        throw Refusal(
          at: "counts.\(name)", "the rule \(quoted(name)) counts nothing",
          "give counts for rules of the kinds rate and quota")
      }
      guard (0...1_000_000_000).contains(used) else {
        throw Refusal(at: "counts.\(name)", "\(used) is not a count", "give 0 to 1000000000")
      }
      states[name] = plan.state(used: used, at: now)
    }
    self.states = states
  }

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    states[key.rule].map { .state($0) } ?? .unused
  }
}
