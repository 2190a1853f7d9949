// The problems of a configuration, and notices about it.

public import Documents

/// A fact that an operator should know, which does not prevent loading. Its text never contains a secret.
public struct ConfigurationNotice: Sendable, Hashable, CustomStringConvertible {
  public let place: DocumentPlace
  public let message: String

  package init(place: DocumentPlace, message: String) {
    self.place = place
    self.message = message
  }

  /// `place: message`, on one line.
  public var description: String { "\(place): \(message)" }
}

/// All problems of a configuration together.
public struct ConfigurationErrors: Error, Sendable, CustomStringConvertible {
  /// The problems, never empty: flags first, then variables, missing settings, and each file from top to
  /// bottom.
  public let problems: [DocumentProblem]
  /// The notices, in addition to the problems.
  public let notices: [ConfigurationNotice]
  /// The stamps, by path, of the files that were read or could not be read. A change to one of them may fix
  /// the configuration.
  public let files: [String: FileStamp]

  package init(problems: [DocumentProblem], notices: [ConfigurationNotice], files: [String: FileStamp] = [:])
  {
    self.problems = problems
    self.notices = notices
    self.files = files
  }

  /// One line per problem.
  public var description: String { problems.map(\.description).joined(separator: "\n") }

  /// Whether all problems are on the command line (exit status 64; otherwise 78). An unreadable file that a
  /// flag names is part of the configuration, as it is when a variable names it.
  public var isMisuse: Bool {
    problems.allSatisfy { $0.place.isFlag && $0.place != .flag(Settings.config.setting.flag ?? "") }
  }
}
