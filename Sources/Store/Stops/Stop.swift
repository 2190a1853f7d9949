// One stop of the kill switch: which requests it refuses, from when, until when and why.

public import Gate
import Texts

/// A stop of the kill switch: the requests of its target and action are refused.
public struct Stop: Hashable, Sendable {
  /// The requests that a stop applies to.
  public enum Target: Sendable {
    /// All requests.
    case all
    /// Requests for one app.
    case app(String)
    /// Requests of one caller.
    case caller(String)
  }

  /// The actions that a stop applies to.
  public enum Action: Hashable, Sendable {
    /// One action.
    case one(Gate.Action)
    /// Every action.
    case all
  }

  public var target: Target
  public var action: Action
  /// When the stop began, in seconds since the epoch.
  public var since: Int64
  /// When the stop ends automatically, in seconds since the epoch; nil if it lasts until an operator ends it.
  public var until: Int64?
  /// The reason, for operators.
  public var reason: String?
  /// The operator who last requested the stop. Nil for a stop of an earlier release.
  public var by: Operator.Identity?

  public init(
    _ target: Target, _ action: Action, since: Int64, until: Int64? = nil, reason: String? = nil,
    by: Operator.Identity? = nil
  ) {
    self.target = target
    self.action = action
    self.since = since
    self.until = until
    self.reason = reason
    self.by = by
  }

  /// The same stop with another action.
  func of(_ action: Action) -> Stop {
    var stop = self
    stop.action = action
    return stop
  }

  /// The parts of the stop that are left after an action is resumed.
  func without(_ resumed: Action) -> [Stop] {
    action.single.filter { !resumed.single.contains($0) }.map { of(.one($0)) }
  }

  /// Whether the stop has ended at a time, in seconds since the epoch.
  func hasEnded(at seconds: Int64) -> Bool { until.map { $0 <= seconds } ?? false }

  /// The result of a second stop of the same target and action. It has the earlier start and the later end,
  /// so a second stop never shortens the first. It has the later reason and operator, if there are any. If
  /// the first stop has ended, the result is the second. The stores' SQL does the same.
  func joined(by later: Stop) -> Stop {
    guard !hasEnded(at: later.since) else { return later }
    var joined = self
    joined.until = if let until, let other = later.until { max(until, other) } else { nil }
    joined.reason = later.reason ?? reason
    joined.by = later.by ?? by
    return joined
  }
}

extension Stop.Target: Hashable {
  /// Names are compared by their octets.
  public static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.all, .all): true
    case (.app(let a), .app(let b)), (.caller(let a), .caller(let b)): a.hasSameBytes(as: b)
    case (.all, _), (.app, _), (.caller, _): false
    }
  }
}

extension Stop.Target {
  /// The kind of target, and its id, which is empty for `all`. The admin API and the store use these words.
  public var parts: (scope: String, id: String) {
    switch self {
    case .all: ("all", "")
    case .app(let id): ("app", id)
    case .caller(let id): ("caller", id)
    }
  }

  /// Reads the words of `parts`; nil for any other word, for `all` with an id, and for other targets without
  /// one.
  public init?(scope: String, id: String?) {
    switch (scope, id ?? "") {
    case ("all", ""): self = .all
    case ("app", let id) where !id.isEmpty: self = .app(id)
    case ("caller", let id) where !id.isEmpty: self = .caller(id)
    default: return nil
    }
  }
}

extension Stop.Action: RawRepresentable {
  /// The names of all actions that a stop can have: those of requests, and `all`.
  public static let names = Gate.Action.allCases.map(\.rawValue) + ["all"]

  /// The name of the action, or `all`.
  public var rawValue: String {
    switch self {
    case .one(let action): action.rawValue
    case .all: "all"
    }
  }

  /// Reads the name of an action; nil for any other word.
  public init?(rawValue: String) {
    if rawValue == "all" {
      self = .all
    } else if let action = Gate.Action(rawValue: rawValue) {
      self = .one(action)
    } else {
      return nil
    }
  }

  /// The actions of requests to which the stop applies.
  package var single: [Gate.Action] {
    switch self {
    case .one(let action): [action]
    case .all: Gate.Action.allCases
    }
  }
}

extension Stop {
  /// The allowed durations of a stop that ends automatically. For a longer stop, an operator sets no end.
  package static let durations: ClosedRange<Duration> = .seconds(1) ... .seconds(365 * 86_400)
  /// The maximum length of a reason, in Unicode scalars.
  package static let longestReason = 200

  /// Whether a text can be a reason: not blank, at most `longestReason` long, and on one line without
  /// characters that a terminal would interpret.
  package static func isReason(_ text: String) -> Bool {
    let isText = text.unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
      default: true
      }
    }
    return isText && text.unicodeScalars.count <= longestReason && text.contains { !$0.isWhitespace }
  }
}
