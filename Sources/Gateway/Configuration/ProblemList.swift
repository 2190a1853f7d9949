// Collects every problem of a configuration, so that all are reported together.

/// Gathers everything that is wrong, so that it can be told at once.
package struct ProblemList: Sendable {
  private(set) var problems: [ConfigurationProblem] = []
  package private(set) var notices: [ConfigurationNotice] = []

  /// Nothing wrong yet.
  package init() {}

  package var isEmpty: Bool { problems.isEmpty }

  /// Records a problem at a place; `subject` is the setting's name, left out where the place says it.
  package mutating func add(_ place: ConfigurationPlace, _ subject: String?, _ refusal: Refusal) {
    let shown: String? =
      switch place {
      case .file: subject
      case .variable, .flag, .setting, .standard: nil
      }
    let problem = ConfigurationProblem(
      place: place, subject: shown, message: refusal.message, remedy: refusal.remedy)
    if !problems.contains(problem) { problems.append(problem) }
  }

  /// Records problems found elsewhere.
  mutating func add(contentsOf others: [ConfigurationProblem]) {
    for problem in others where !problems.contains(problem) { problems.append(problem) }
  }

  /// Records something to know.
  mutating func note(_ place: ConfigurationPlace, _ message: String) {
    let notice = ConfigurationNotice(place: place, message: message)
    if !notices.contains(notice) { notices.append(notice) }
  }

  /// The problems in reading order: flags, variables, what is missing, and each file from top to bottom.
  package var sorted: [ConfigurationProblem] {
    problems.enumerated().sorted { a, b in
      let (left, right) = (Self.rank(a.element.place), Self.rank(b.element.place))
      return left == right ? a.offset < b.offset : left < right
    }.map(\.element)
  }

  private static func rank(_ place: ConfigurationPlace) -> (Int, Int, Int) {
    switch place {
    case .flag: (0, 0, 0)
    case .variable: (1, 0, 0)
    case .setting: (2, 0, 0)
    case .file(_, let line, let column): (3, line, column)
    case .standard: (4, 0, 0)
    }
  }
}
