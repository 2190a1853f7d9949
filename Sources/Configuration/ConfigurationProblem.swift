// The problems of a configuration, and notices about it.

public import Documents

/// Something an operator should know that stops nothing. Its text never holds a secret.
public struct ConfigurationNotice: Sendable, Hashable, CustomStringConvertible {
  /// The position.
  public let place: DocumentPlace
  /// What to know.
  public let message: String

  package init(place: DocumentPlace, message: String) {
    self.place = place
    self.message = message
  }

  /// `place: message`, on one line.
  public var description: String { "\(place): \(message)" }
}

/// All that is wrong with a configuration, at once.
public struct ConfigurationErrors: Error, Sendable, CustomStringConvertible {
  /// The problems, never empty: flags first, then variables by name, then the file from top to bottom.
  public let problems: [DocumentProblem]
  /// The notices beside the problems.
  public let notices: [ConfigurationNotice]
  /// The files that were read, or should have been, as they were: a change of one of them may mend it.
  public let files: [String: FileStamp]

  /// Collects the problems.
  package init(problems: [DocumentProblem], notices: [ConfigurationNotice], files: [String: FileStamp] = [:])
  {
    self.problems = problems
    self.notices = notices
    self.files = files
  }

  /// One line per problem.
  public var description: String { problems.map(\.description).joined(separator: "\n") }

  /// Whether every problem is on the command line (exit 64) and none elsewhere (78). An unreadable file that
  /// a flag names is part of the configuration, as it is when a variable names it.
  public var isMisuse: Bool {
    problems.allSatisfy { $0.place.isFlag && $0.place != .flag(Settings.config.setting.flag ?? "") }
  }
}
