// Collects every problem of a configuration, so that all are reported together.

package import Documents

/// Gathers everything that is wrong, so that it can be told at once.
package struct ProblemList: Sendable {
  private(set) var problems: [DocumentProblem] = []
  package private(set) var notices: [ConfigurationNotice] = []

  /// Nothing wrong yet.
  package init() {}

  package var isEmpty: Bool { problems.isEmpty }

  /// Records a problem at a place; `subject` is the setting's name, left out where the place says it.
  package mutating func add(_ place: DocumentPlace, _ subject: String?, _ refusal: Refusal) {
    let shown: String? =
      switch place {
      case .file: subject
      case .variable, .flag, .setting, .standard: nil
      }
    let problem = DocumentProblem(place, shown, refusal)
    if !problems.contains(problem) { problems.append(problem) }
  }

  /// Records problems found elsewhere.
  package mutating func add(contentsOf others: [DocumentProblem]) {
    for problem in others where !problems.contains(problem) { problems.append(problem) }
  }

  /// Records something to know.
  mutating func note(_ place: DocumentPlace, _ message: String) {
    let notice = ConfigurationNotice(place: place, message: message)
    if !notices.contains(notice) { notices.append(notice) }
  }

  /// The problems in reading order: flags, variables, what is missing, and each file from top to bottom.
  package var sorted: [DocumentProblem] {
    problems.enumerated().sorted { a, b in (a.element.place, a.offset) < (b.element.place, b.offset) }
      .map(\.element)
  }
}
