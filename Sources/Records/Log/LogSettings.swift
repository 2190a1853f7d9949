// How much the server logs, and whether its lines are JSON or text.

/// How much is logged, and in which form.
public struct LogSettings: Sendable, Hashable {
  /// The least severe line that is written.
  public package(set) var level: Level
  /// How lines other than audit lines look.
  public package(set) var format: Format

  /// Severity, most talkative first.
  public enum Level: String, Sendable, CaseIterable, Comparable {
    case debug, info, warning, error

    public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

    private var rank: Int {
      switch self {
      case .debug: 0
      case .info: 1
      case .warning: 2
      case .error: 3
      }
    }
  }

  /// The form of a log line.
  public enum Format: String, Sendable, CaseIterable { case json, text }

  /// Settings.
  package init(level: Level, format: Format) {
    self.level = level
    self.format = format
  }
}
