// Reads the query of a request, and reports all mistakes together.

import API
import HTTP

/// The items of a request's query, read one by one.
struct QueryReader {
  private var mistakes: [Problem.FieldProblem] = []

  /// The value of an item; nil if the item is absent, or wrong, which is noted.
  ///
  /// - Parameters:
  ///   - name: The item's name, for the note.
  ///   - item: The item of the query.
  ///   - need: The remedy for a wrong value.
  ///   - parse: The value of a text; nil refuses the text.
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
