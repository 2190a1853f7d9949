// A place in a document or another source of settings, written so that editors can jump to it.

/// Where something stands, in the form people and editors jump to.
public enum DocumentPlace: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// In a YAML file; line and column count from 1. `CALLGATE_CONFIG_TEXT` is a file of that name.
  case file(String, line: Int, column: Int)
  /// In an environment variable.
  case variable(String)
  /// On the command line.
  case flag(String)
  /// Nowhere yet: the setting that is missing.
  case setting(String)
  /// Built in.
  case standard

  public var description: String {
    switch self {
    case .file(let name, let line, let column): "\(name):\(line):\(column)"
    case .variable(let name), .flag(let name), .setting(let name): name
    case .standard: "default"
    }
  }

  /// Whether there is no place yet, because something is missing.
  package var isMissing: Bool { if case .setting = self { true } else { false } }

  /// Whether the place is in a file.
  package var isFile: Bool { if case .file = self { true } else { false } }

  /// Whether the place is the command line, whose mistakes are mistakes of use.
  public var isFlag: Bool { if case .flag = self { true } else { false } }

  /// Reading order: flags, variables, what is missing, and each file from top to bottom.
  public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

  private var rank: (Int, Int, Int) {
    switch self {
    case .flag: (0, 0, 0)
    case .variable: (1, 0, 0)
    case .setting: (2, 0, 0)
    case .file(_, let line, let column): (3, line, column)
    case .standard: (4, 0, 0)
    }
  }
}
