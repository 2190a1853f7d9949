/// One thing wrong with a configuration: where, what, and what to do. Its text never holds a secret.
public struct ConfigurationProblem: Sendable, Hashable, CustomStringConvertible {
  /// Where it stands.
  public let place: ConfigurationPlace
  /// The setting concerned, if the place does not name it already.
  public let subject: String?
  /// What is wrong.
  public let message: String
  /// What mends it.
  public let remedy: String

  package init(place: ConfigurationPlace, subject: String?, message: String, remedy: String) {
    self.place = place
    self.subject = subject
    self.message = message
    self.remedy = remedy
  }

  /// `place: setting: what is wrong — what to do`, on one line.
  public var description: String {
    let start = subject.map { "\(place): \($0): " } ?? "\(place): "
    return start + message + (remedy.isEmpty ? "" : " — \(remedy)")
  }
}

/// Something an operator should know that stops nothing. Its text never holds a secret.
public struct ConfigurationNotice: Sendable, Hashable, CustomStringConvertible {
  /// Where it stands.
  public let place: ConfigurationPlace
  /// What to know.
  public let message: String

  /// `place: message`, on one line.
  public var description: String { "\(place): \(message)" }
}

/// All that is wrong with a configuration, at once.
public struct ConfigurationErrors: Error, Sendable, CustomStringConvertible {
  /// The problems, never empty: flags first, then variables by name, then the file from top to bottom.
  public let problems: [ConfigurationProblem]
  /// What was noticed besides.
  public let notices: [ConfigurationNotice]
  /// The files that were read, or should have been, as they were: a change of one of them may mend it.
  public let files: [String: FileStamp]

  /// Gathers what is wrong.
  package init(
    problems: [ConfigurationProblem], notices: [ConfigurationNotice], files: [String: FileStamp] = [:]
  ) {
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

/// Why a text is not what its setting needs: the reader's half of a problem.
package struct Refusal: Error, Hashable {
  package let message: String
  package let remedy: String

  package init(_ message: String, _ remedy: String) {
    self.message = message
    self.remedy = remedy
  }
}

/// A value as problems show it: quoted, on one line, and cut where it grows longer than so many characters.
package func quoted(_ text: some StringProtocol, limit: Int = 64) -> String {
  var result = "\""
  for scalar in text.unicodeScalars.prefix(limit) {
    switch scalar {
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    case "\"", "\\": result += "\\\(scalar)"
    case _
    where scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
      || scalar.properties.generalCategory == .lineSeparator
      || scalar.properties.generalCategory == .paragraphSeparator:
      result += "\\u{\(String(scalar.value, radix: 16))}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + (text.unicodeScalars.count > limit ? "…\"" : "\"")
}

/// A path as problems show it: whole, since a path that is cut names nothing.
package func quoted(path: String) -> String { quoted(path, limit: 4096) }
