// Tests of the JSON parser with every case of JSONTestSuite.

import JSON
import TestSupport
import Testing

/// Nicolas Seriot's JSONTestSuite.
@Suite struct JSONTestSuiteTests {
  /// Accepted by RFC 8259's grammar, refused here on purpose: a name that appears twice.
  static let duplicates: Set = ["y_object_duplicated_key", "y_object_duplicated_key_and_value"]
  /// Where the RFC leaves the choice: a number of any size is text and therefore accepted; everything else is refused.
  static func accepted(_ name: String) -> Bool { name.hasPrefix("i_number_") }

  @Test func `the whole suite is judged as documented`() throws {
    let suite = try Vector.jsonTestSuite()
    #expect(suite.count == 318)
    for (name, content) in suite {
      let verdict: JSONError?
      do {
        _ = try JSONValue(parsing: content)
        verdict = nil
      } catch {
        verdict = error
      }
      switch name.prefix(2) {
      case "y_" where Self.duplicates.contains(name): #expect(verdict?.reason == .duplicateName, "\(name)")
      case "y_": #expect(verdict == nil, "\(name)")
      case "n_": #expect(verdict != nil, "\(name)")
      default: #expect((verdict == nil) == Self.accepted(name), "\(name)")
      }
    }
  }
}
