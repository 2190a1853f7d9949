// Writes errors of Sendbird Desk, as far as their shape is known.

import JSON

/// An error of the emulated Sendbird Desk. Its real shape is not known, and it has no code.
enum DeskError {
  /// The content of an error.
  static func content(_ detail: String) -> [UInt8] {
    let members: JSONObject = ["detail": .string(detail)]
    return members.serialized()
  }
}
