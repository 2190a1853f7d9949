// Adds the operator of a change to a document.

package import Gate
package import JSON

extension JSONObject {
  /// Adds `operator` and `by`: `-` for a row that an earlier release wrote.
  package mutating func put(_ identity: Operator.Identity?) {
    self["operator"] = .string(identity?.name ?? "-")
    self["by"] = .string(identity?.by.rawValue ?? "-")
  }
}
