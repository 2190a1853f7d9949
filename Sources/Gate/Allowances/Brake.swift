// The names and time spans of the brakes, the built-in limits on callbacks (setting `callbacks.brakes`).

/// A brake: a built-in limit on callbacks, or on the number lookups that callbacks need.
public enum Brake: String, CaseIterable, Sendable {
  /// The limit on callbacks to one number per day (UTC).
  case number
  /// The limit on all callbacks in five minutes.
  case burst
  /// The limit on all callbacks in an hour.
  case hour
  /// The limit on all number lookups in an hour.
  case lookups

  /// The prefix of the names of brake rules. No configured rule may have this prefix.
  static let prefix = "brake-"

  /// The name of the brake's rule.
  public var ruleName: String { Self.prefix + rawValue }

  /// The time span that the brake's limit applies to, in seconds.
  public var seconds: Int64 {
    switch self {
    case .number: 86_400
    case .burst: 300
    case .hour, .lookups: 3600
    }
  }
}
