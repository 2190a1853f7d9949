// Reads and writes the names of refused fields that are saved with an `Idempotency-Key`, also as earlier
// releases wrote them.

import JSON

/// The content of the column `answer`: a JSON array of names, or null for none.
///
/// Earlier releases saved the whole response to the first request there, with its status in another column.
/// Only the names in `fields` are read from it: the record has the rest.
package enum RefusedFields {
  package static func read(_ stored: [UInt8]) -> [String] {
    do throws(JSONError) {
      let value = try JSONValue(parsing: stored)
      return value.array?.compactMap(\.string)
        ?? value.object?["fields"]?.array?.compactMap { $0["name"]?.string } ?? []
    } catch {
      // No release wrote such a text. Without names, the response still has its status and code.
      return []
    }
  }

  package static func written(_ names: [String]) -> [UInt8]? {
    names.isEmpty ? nil : JSONValue.array(names.map { .string($0) }).serialized()
  }
}
