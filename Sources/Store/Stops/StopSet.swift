// A set of stops of the kill switch, and the search for the stop that applies to a request.

public import Gate

/// A set of stops, at most one for each target and action. So stopping `all` and then resuming `access`
/// leaves callbacks stopped.
public struct StopSet: Hashable, Sendable {
  private struct Key: Hashable {
    var target: Stop.Target
    var action: Gate.Action
  }

  /// The stops by target and action. The action of each stop is its key's single action, never `all`.
  private var stops: [Key: Stop] = [:]

  /// How long a store keeps a stop after its end, in seconds: more than instances' clocks may differ.
  package static let lingering: Int64 = 60

  public init() {}

  public var isEmpty: Bool { stops.isEmpty }

  /// Adds a stop, or joins it with the stop of the same target and action (`Stop.joined`).
  public mutating func stop(_ stop: Stop) {
    for action in stop.action.single {
      let key = Key(target: stop.target, action: action)
      let stop = stop.of(.one(action))
      stops[key] = stops[key]?.joined(by: stop) ?? stop
    }
  }

  /// Removes the stops that have ended.
  ///
  /// - Returns: The removed stops, combined as in `list`.
  public mutating func removeEnded(at seconds: Int64) -> [Stop] {
    var ended = StopSet()
    for (key, stop) in stops where stop.hasEnded(at: seconds) {
      ended.stops[key] = stop
      stops[key] = nil
    }
    return ended.list
  }

  /// The ended stops of this set whose target and action are not stopped in a later set, combined as in
  /// `list`.
  func ended(at seconds: Int64, in later: StopSet) -> [Stop] {
    var ended = StopSet()
    ended.stops = stops.filter { key, stop in stop.hasEnded(at: seconds) && later.stops[key] == nil }
    return ended.list
  }

  /// Whether the set has each action of a stop, with the same end.
  func covers(_ stop: Stop) -> Bool {
    stop.action.single.allSatisfy { action in
      stops[Key(target: stop.target, action: action)].map { $0.until == stop.until } ?? false
    }
  }

  /// Whether the set has each action of a stop, with any end.
  func includes(_ stop: Stop) -> Bool {
    stop.action.single.allSatisfy { stops[Key(target: stop.target, action: $0)] != nil }
  }

  /// Ends the stop of exactly this target, for these actions.
  public mutating func resume(_ target: Stop.Target, _ action: Stop.Action) {
    for action in action.single { stops[Key(target: target, action: action)] = nil }
  }

  /// The stop with the widest target that applies to a request (all, then its app, then its caller); nil if
  /// the request may continue.
  ///
  /// - Parameter seconds: The time, in seconds since the epoch.
  public func stop(
    for action: Gate.Action, callerID: String?, appID: String?, at seconds: Int64
  ) -> Stop? {
    guard !stops.isEmpty else { return nil }
    if let found = stop(.all, action, seconds) { return found }
    if let appID, let found = stop(.app(appID), action, seconds) { return found }
    return stop(.caller(callerID ?? Facts.anonymous), action, seconds)
  }

  private func stop(_ target: Stop.Target, _ action: Gate.Action, _ seconds: Int64) -> Stop? {
    stops[Key(target: target, action: action)].flatMap { $0.hasEnded(at: seconds) ? nil : $0 }
  }

  /// The stops in a fixed order. If every action of a target is stopped in the same way, the list has a
  /// single stop of `all` for them.
  public var list: [Stop] {
    var list: [Stop] = []
    for stops in Dictionary(grouping: stops.values, by: \.target).values {
      let alike = Set(stops.map { $0.of(.all) })
      if alike.count == 1, Set(stops.map(\.action)) == Set(Gate.Action.allCases.map(Stop.Action.one)) {
        list += alike
      } else {
        list += stops
      }
    }
    return list.sorted { a, b in
      let (left, right) = (a.target.parts, b.target.parts)
      return (left.scope, left.id, a.action.rawValue) < (right.scope, right.id, b.action.rawValue)
    }
  }
}

extension StopSet {
  /// Reads a store's rows. A row with unknown words is from a newer version, and stops everything that it may
  /// mean.
  package init(rows: [Row]) {
    self.init()
    for row in rows {
      let target = Stop.Target(scope: row.scope, id: row.id) ?? .all
      stop(
        Stop(
          target, Stop.Action(rawValue: row.action) ?? .all, since: row.since, until: row.until,
          reason: row.reason, by: row.by))
    }
  }

  /// A stop as a row of a store.
  package struct Row {
    package var scope: String
    package var id: String
    package var action: String
    package var since: Int64
    package var until: Int64?
    package var reason: String?
    package var by: Operator.Identity?

    package init(
      scope: String, id: String, action: String, since: Int64, until: Int64? = nil, reason: String? = nil,
      by: Operator.Identity? = nil
    ) {
      self.scope = scope
      self.id = id
      self.action = action
      self.since = since
      self.until = until
      self.reason = reason
      self.by = by
    }

    /// Whether the row stops one of the actions for the target.
    func isOf(_ target: Stop.Target, _ stopped: Stop.Action) -> Bool {
      let parts = target.parts
      return scope.utf8.elementsEqual(parts.scope.utf8) && id.utf8.elementsEqual(parts.id.utf8)
        && stopped.single.contains { $0.rawValue.utf8.elementsEqual(action.utf8) }
    }
  }
}
