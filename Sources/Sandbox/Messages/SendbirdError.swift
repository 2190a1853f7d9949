// The error responses of the emulated Sendbird.

import JSON

/// An error of the emulated Sendbird.
enum SendbirdError {
  /// The content of an error.
  static func content(_ code: Int64, _ message: String) -> [UInt8] {
    let members: JSONObject = [
      "error": true, "code": .number(JSONNumber(code)), "message": .string(message),
    ]
    return members.serialized()
  }
}
