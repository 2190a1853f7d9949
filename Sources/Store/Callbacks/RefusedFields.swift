// The text form of refused fields in a key's row, and the form of earlier releases.

import JSON

/// The content of the column `answer`: a JSON array of names, or null for none.
///
/// Earlier releases saved the whole response to the first request there, with its status beside it. Of these
/// only the names in `fields` are read; the record has the rest.
package enum RefusedFields {
  package static func read(_ stored: [UInt8]) -> [String] {
    do throws(JSONError) {
      let value = try JSONValue(parsing: stored)
      return value.array?.compactMap(\.string)
        ?? value.object?["fields"]?.array?.compactMap { $0["name"]?.string } ?? []
    } catch {
      // No release wrote that. Without names, the response still has its status and code.
      return []
    }
  }

  package static func written(_ names: [String]) -> [UInt8]? {
    names.isEmpty ? nil : JSONValue.array(names.map { .string($0) }).serialized()
  }
}
