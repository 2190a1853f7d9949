// Reads the query of a request, and reports all mistakes together.

import API
import HTTP

/// A reader for the items of a request's query, which collects all mistakes.
struct QueryReader {
  private var mistakes: [Problem.FieldProblem] = []

  /// The value of an item; nil if the item is absent, or wrong, which is noted.
  ///
  /// - Parameters:
  ///   - name: The item's name, for the mistake.
  ///   - item: The item of the query.
  ///   - need: The remedy for a wrong value.
  ///   - parse: Reads the value from the text; nil refuses the text.
  mutating func value<Value>(
    _ name: String, _ item: Request.QueryItem, _ need: String, _ parse: (String) -> Value?
  )
    -> Value?
  {
    switch item {
    case .absent: return nil
    case .value(let text):
      if let value = parse(text) { return value }
    case .malformed: break
    }
    mistakes.append(Problem.FieldProblem(name: name, description: need))
    return nil
  }

  /// Throws all mistakes. Call it after the last item was read.
  consuming func finish() throws(Problem) {
    guard mistakes.isEmpty else { throw .invalid(mistakes) }
  }
}
