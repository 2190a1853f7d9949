// All that is wrong with a configuration, and what is worth a word.

public import Documents

/// Something an operator should know that stops nothing. Its text never holds a secret.
public struct ConfigurationNotice: Sendable, Hashable, CustomStringConvertible {
  /// Where it stands.
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
  /// What was noticed besides.
  public let notices: [ConfigurationNotice]
  /// The files that were read, or should have been, as they were: a change of one of them may mend it.
  public let files: [String: FileStamp]

  /// Gathers what is wrong.
  package init(problems: [DocumentProblem], notices: [ConfigurationNotice], files: [String: FileStamp] = [:])
  {
    self.problems = problems
    self.notices = notices
    self.files = files
  }

  /// One line per problem.
  public var description: String { problems.map(\.description).joined(separator: "\n") }

  /// Whether every problem stands on the command line (exit 64) and none elsewhere (78). A file that is named there and
  /// cannot be read is part of the configuration, as it is where a variable names it.
  public var isMisuse: Bool {
    problems.allSatisfy { $0.place.isFlag && $0.place != .flag(Settings.config.setting.flag ?? "") }
  }
}
