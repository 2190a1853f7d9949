// Collects every problem of a configuration, so that all are reported together.

package import Documents

/// The problems and notices of a configuration, each recorded once.
package struct ProblemList: Sendable {
  private(set) var problems: [DocumentProblem] = []
  package private(set) var notices: [ConfigurationNotice] = []

  package init() {}

  package var isEmpty: Bool { problems.isEmpty }

  /// Records a problem at a position. `subject` is the setting's name, nil if the position names it.
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

  /// Records a notice.
  mutating func note(_ place: DocumentPlace, _ message: String) {
    let notice = ConfigurationNotice(place: place, message: message)
    if !notices.contains(notice) { notices.append(notice) }
  }

  /// The problems in reading order: flags, variables, missing settings, and each file from top to bottom.
  package var sorted: [DocumentProblem] {
    problems.enumerated().sorted { a, b in (a.element.place, a.offset) < (b.element.place, b.offset) }
      .map(\.element)
  }
}
