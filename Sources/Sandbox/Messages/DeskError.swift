// The error responses of the emulated Sendbird Desk.

import JSON

/// An error of the emulated Sendbird Desk. The real format is unknown; this one has no code.
enum DeskError {
  /// The content of an error response, as JSON.
  static func content(_ detail: String) -> [UInt8] {
    let members: JSONObject = ["detail": .string(detail)]
    return members.serialized()
  }
}
