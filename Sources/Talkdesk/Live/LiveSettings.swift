// What an operator decides about the number of available agents.

/// How the server learns how many agents are available.
public struct LiveSettings: Hashable, Sendable {
  /// The name of the query at Talkdesk, or its id.
  public var query: String
  /// Where the number is in a result: names of members and positions in lists.
  public var path: [String]
  /// The ring group, or queue, whose agents count; nil for all.
  public var ringGroup: String?
  /// With how many agents a customer is told that one is available.
  public var atLeast: Int64
  /// After which time without a result the number is not known any more.
  public var stale: Duration

  /// Whether a number by these settings is one by others.
  func asksTheSame(as other: LiveSettings) -> Bool {
    query == other.query && path == other.path && ringGroup == other.ringGroup
  }

  /// Settings.
  public init(
    query: String, path: [String] = ["result", "value"], ringGroup: String? = nil, atLeast: Int64 = 1,
    stale: Duration = .seconds(120)
  ) {
    self.query = query
    self.path = path
    self.ringGroup = ringGroup
    self.atLeast = atLeast
    self.stale = stale
  }
}
