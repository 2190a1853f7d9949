// Collects every problem in a callback request, so that one response can name them all.

import API

/// The mistakes in a callback request, collected so that one response names all. It never holds a value.
struct CallbackProblems {
  private(set) var fields: [Problem.FieldProblem] = []

  /// Adds one.
  mutating func add(_ path: String, _ description: String) {
    guard fields.count <= CallbackLimits.problems else { return }
    if fields.count == CallbackLimits.problems {
      return fields.append(.init(name: "", description: "There are more mistakes. Fix these first."))
    }
    fields.append(.init(name: path, description: description))
  }

  /// Ends the validation where anything was found.
  func throwIfAny() throws(Problem) {
    guard !fields.isEmpty else { return }
    var problem = Problem(.invalidRequest, "The request has invalid values. See fields.")
    problem.fields = fields
    throw problem
  }

  /// A member's name from outside as a path may show it: at most 64 characters, controls as `?`, and from a run of seven
  /// or more digits only the last two, as it may be a telephone number.
  static func shown(_ name: String) -> String {
    var scalars = name.unicodeScalars.prefix(64).map { CallbackLimits.isControl($0) ? "?" : $0 }
    var start: Int?
    for index in 0...scalars.count {
      if index < scalars.count, ("0"..."9").contains(scalars[index]) {
        start = start ?? index
      } else if let from = start {
        if index - from >= 7 { for place in from..<index - 2 { scalars[place] = "*" } }
        start = nil
      }
    }
    var shown = String.UnicodeScalarView(scalars)
    if name.unicodeScalars.count > 64 { shown.append("…") }
    return String(shown)
  }
}
