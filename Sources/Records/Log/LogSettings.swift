// How much the server logs, and whether its lines are JSON or text.

/// The level and format of the log.
public struct LogSettings: Sendable, Hashable {
  /// The lowest level that is written.
  public package(set) var level: Level
  /// The format of log lines, and of audit lines that share the log's output.
  public package(set) var format: Format

  /// Severities, the most verbose first.
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

  public enum Format: String, Sendable, CaseIterable { case json, text }

  package init(level: Level, format: Format) {
    self.level = level
    self.format = format
  }
}
