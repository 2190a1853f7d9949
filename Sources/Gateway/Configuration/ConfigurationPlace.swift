// A place in the configuration, written so that editors can jump to it.

/// Where in the configuration something stands, in the form people and editors jump to.
public enum ConfigurationPlace: Sendable, Hashable, CustomStringConvertible {
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
  var isFile: Bool { if case .file = self { true } else { false } }

  /// Whether the place is the command line, whose mistakes are mistakes of use.
  public var isFlag: Bool { if case .flag = self { true } else { false } }
}
