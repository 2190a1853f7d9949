// Allowances with made-up counts, so that rules can be explained and tested without a store.

public import Documents

/// States made of counts: "so many are already used in that rule's window", for every caller.
public struct CountedStates: AllowanceStates, Sendable {
  private let states: [String: AllowanceState]

  /// States at an instant. Throws for a rule the policy has not, or that counts nothing.
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
