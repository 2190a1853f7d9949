// The error responses of the emulated Sendbird.

import JSON

/// An error of the emulated Sendbird: a code of Sendbird's and a message.
enum SendbirdError {
  /// The content of an error response, as JSON.
  static func content(_ code: Int64, _ message: String) -> [UInt8] {
    let members: JSONObject = [
      "error": true, "code": .number(JSONNumber(code)), "message": .string(message),
    ]
    return members.serialized()
  }
}
