// Describes the changes of the list of store keys in use, for operators.

import Gate
package import Sealing

extension KeyChanges {
  /// A sentence about the current store key and the changes of other keys, for operators.
  package func description(of current: StoreKeyID, in keys: [KeyInUse]) -> String {
    var parts: [String]
    if let row = keys.first(where: { $0.mark.id == current }) {
      parts = ["\(current), in use since \(Instant(seconds: row.since).rfc3339)"]
    } else {
      parts = ["\(current), which serve takes into use"]
    }
    for id in removed {
      let isThere = keys.contains { $0.mark.id == id }
      parts.append(isThere ? "serve removes \(id), which seals nothing" : "\(id) is no longer in use")
    }
    if let previous {
      parts.append("the previous key \(previous.id) may be removed from \(previous.from)")
    }
    return parts.joined(separator: "; ")
  }
}

extension KeyChanges.PreviousKey {
  /// The time from which the key may be removed, or `now`.
  package var from: String { sealedUntil?.rfc3339 ?? "now" }
}
