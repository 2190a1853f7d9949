// The names and spans of the built-in limits on callbacks.

/// A built-in limit on callbacks.
public enum Brake: String, CaseIterable, Sendable {
  /// On callbacks to one number in a day (UTC).
  case number
  /// On all callbacks in five minutes.
  case burst
  /// On all callbacks in an hour.
  case hour
  /// On all lookups of numbers in an hour.
  case lookups

  /// How the name of every brake's rule begins, and of no configured one.
  static let prefix = "brake-"

  /// The name of its rule.
  public var ruleName: String { Self.prefix + rawValue }

  /// The span in which its figure may be used, in seconds.
  public var seconds: Int64 {
    switch self {
    case .number: 86_400
    case .burst: 300
    case .hour, .lookups: 3600
    }
  }
}
