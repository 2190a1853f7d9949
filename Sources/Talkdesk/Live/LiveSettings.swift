// The settings for the number of available agents: the query of Talkdesk's Live API, and how to read it.

/// The query of Talkdesk's Live API to follow, and how to read its results.
public struct LiveSettings: Hashable, Sendable {
  /// The name of the query at Talkdesk, or the query's id.
  public var query: String
  /// The path of the number in a result: names of members and indexes in lists.
  public var path: [String]
  /// The ring group, or queue, whose agents count; nil for all.
  public var ringGroup: String?
  /// The minimum number of available agents at which customers are told that an agent is available.
  public var atLeast: Int64
  /// The time after the latest result at which the number becomes unknown.
  public var stale: Duration

  /// Whether a number for these settings is also right for the others.
  func asksTheSame(as other: LiveSettings) -> Bool {
    query == other.query && path == other.path && ringGroup == other.ringGroup
  }

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
