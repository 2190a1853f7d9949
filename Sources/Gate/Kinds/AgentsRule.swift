// The rule that refuses requests while too few agents are available.

public import Documents

/// Requires a minimum number of available agents.
public struct AgentsRule: Sendable {
  /// The time after which a refused client may retry, in seconds.
  static let retryAfter: Int64 = 60
  /// The largest minimum that a configuration may set.
  public static let most: Int64 = 1_000_000

  /// The minimum number of available agents.
  public let atLeast: Int64
  /// The decision while the number of available agents is not known.
  public let onStale: FailurePolicy

  /// Creates a rule. Throws if the minimum is not 1 to 1,000,000.
  public init(atLeast: Int64 = 1, onStale: FailurePolicy = .allow) throws(Refusal) {
    guard (1...Self.most).contains(atLeast) else {
      throw Refusal(at: "at_least", "the number is out of range", "give 1 to \(Self.most)")
    }
    self.atLeast = atLeast
    self.onStale = onStale
  }

  /// Whether the rule allows the request. An appointment is always allowed, because the number of agents now
  /// says nothing about a later time.
  func allows(_ facts: Facts) -> Bool {
    guard facts.at == nil else { return true }
    guard let agents = facts.agents else { return onStale == .allow }
    return agents >= atLeast
  }

  /// The reason for the verdict: the number of agents and the minimum.
  func reason(_ facts: Facts) -> String {
    guard facts.at == nil else { return "it is not asked about an appointment" }
    guard let agents = facts.agents else {
      return "the number of available agents is not known; on_stale is \(onStale.rawValue)"
    }
    return "\(agents) \(agents == 1 ? "agent is" : "agents are") available; at_least is \(atLeast)"
  }
}
