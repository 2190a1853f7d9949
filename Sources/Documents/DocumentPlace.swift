// A position in a document or another source of settings, in the form that editors can jump to.

/// The position of a value, in a form that people read and editors jump to.
public enum DocumentPlace: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// A position in a YAML file. Lines and columns count from 1. `CALLGATE_CONFIG_TEXT` is a file of that
  /// name.
  case file(String, line: Int, column: Int)
  /// An environment variable.
  case variable(String)
  /// A flag of the command line.
  case flag(String)
  /// No position: the setting that is missing.
  case setting(String)
  /// The default value, which has no position.
  case standard

  public var description: String {
    switch self {
    case .file(let name, let line, let column): "\(name):\(line):\(column)"
    case .variable(let name), .flag(let name), .setting(let name): name
    case .standard: "default"
    }
  }

  /// Whether there is no position, because the setting is missing.
  package var isMissing: Bool { if case .setting = self { true } else { false } }

  /// Whether the position is in a file.
  package var isFile: Bool { if case .file = self { true } else { false } }

  /// Whether the value is a flag on the command line. Mistakes in flags are usage errors.
  public var isFlag: Bool { if case .flag = self { true } else { false } }

  /// Sorts in reading order: flags, variables, missing settings, lines of a file from top to bottom, and
  /// defaults.
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
