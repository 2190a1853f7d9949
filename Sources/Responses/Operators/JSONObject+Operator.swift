// Names the operator of a change in a document.

package import Gate
package import JSON

extension JSONObject {
  /// Puts in the operator of a change; `-` for a row of a release that stored none.
  package mutating func put(_ identity: Operator.Identity?) {
    self["operator"] = .string(identity?.name ?? "-")
    self["by"] = .string(identity?.by.rawValue ?? "-")
  }
}
