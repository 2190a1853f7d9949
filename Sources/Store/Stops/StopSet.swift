// All that is stopped at one time, as a value to ask.

public import Gate

/// A set of stops. Access and callbacks are kept apart, so stopping `all` and resuming `access` leaves callbacks
/// stopped.
public struct StopSet: Hashable, Sendable {
  private struct Key: Hashable {
    var target: Stop.Target
    var action: Stop.Action
  }

  /// Since when; the keys' actions are single ones.
  private var since: [Key: Int64] = [:]

  /// Nothing stopped.
  public init() {}

  /// Whether nothing is stopped.
  public var isEmpty: Bool { since.isEmpty }

  /// Adds a stop; one that is there keeps its time.
  public mutating func stop(_ stop: Stop) {
    for action in stop.action.single {
      let key = Key(target: stop.target, action: action)
      if since[key] == nil { since[key] = stop.since }
    }
  }

  /// Ends the stop of exactly this target, for these actions.
  public mutating func resume(_ target: Stop.Target, _ action: Stop.Action) {
    for action in action.single { since[Key(target: target, action: action)] = nil }
  }

  /// The stop that a request falls under, the widest first; nil when it may go on.
  public func stop(for action: Gate.Action, callerID: String?, appID: String?) -> Stop? {
    guard !since.isEmpty else { return nil }
    let action = Stop.Action(action)
    if let found = stop(.all, action) { return found }
    if let appID, let found = stop(.app(appID), action) { return found }
    return stop(.caller(callerID ?? Facts.anonymous), action)
  }

  private func stop(_ target: Stop.Target, _ action: Stop.Action) -> Stop? {
    since[Key(target: target, action: action)].map { Stop(target, action, since: $0) }
  }

  /// The stops in a fixed order, both actions of one target and time as one.
  public var list: [Stop] {
    var stops: [Stop] = []
    for (key, time) in since {
      let other: Stop.Action = key.action == .access ? .callback : .access
      if since[Key(target: key.target, action: other)] == time {
        if key.action == .access { stops.append(Stop(key.target, .all, since: time)) }
      } else {
        stops.append(Stop(key.target, key.action, since: time))
      }
    }
    return stops.sorted { a, b in
      let (left, right) = (a.target.parts, b.target.parts)
      return (left.scope, left.id, a.action.rawValue) < (right.scope, right.id, b.action.rawValue)
    }
  }
}

extension StopSet {
  /// A set of what a store has in its rows; rows of unknown words, from a newer version, stop everything they may
  /// mean.
  init(rows: [(scope: String, id: String, action: String, since: Int64)]) {
    self.init()
    for row in rows {
      let target = Stop.Target(scope: row.scope, id: row.id) ?? .all
      stop(Stop(target, Stop.Action(rawValue: row.action) ?? .all, since: row.since))
    }
  }
}
