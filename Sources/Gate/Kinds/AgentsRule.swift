// The rule that refuses requests while too few agents are available.

public import Documents

/// A least number of available agents.
public struct AgentsRule: Sendable {
  /// How many seconds a refused client waits before it asks again.
  static let retryAfter: Int64 = 60
  /// How many there are at most.
  public static let most: Int64 = 1_000_000

  /// How many have to be available.
  public let atLeast: Int64
  /// The decision while the number is not known.
  public let onStale: FailurePolicy

  /// A rule. Throws for a number that is always or never reached.
  public init(atLeast: Int64 = 1, onStale: FailurePolicy = .allow) throws(Refusal) {
    guard (1...Self.most).contains(atLeast) else {
      throw Refusal(at: "at_least", "the number is out of range", "give 1 to \(Self.most)")
    }
    self.atLeast = atLeast
    self.onStale = onStale
  }

  /// Whether it has no objection. The present number says nothing of an appointment's time.
  func allows(_ facts: Facts) -> Bool {
    guard facts.at == nil else { return true }
    guard let agents = facts.agents else { return onStale == .allow }
    return agents >= atLeast
  }

  /// The values that it compares.
  func reason(_ facts: Facts) -> String {
    guard facts.at == nil else { return "it is not asked about an appointment" }
    guard let agents = facts.agents else {
      return "the number of available agents is not known; on_stale is \(onStale.rawValue)"
    }
    return "\(agents) \(agents == 1 ? "agent is" : "agents are") available; at_least is \(atLeast)"
  }
}
