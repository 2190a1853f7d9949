// The error responses of the emulated Callback API, in Talkdesk's format.

import HTTP
import JSON

/// An error of Talkdesk's platform APIs: one envelope for all statuses. Talkdesk documents no values of `code`; those
/// here are the emulator's own.
struct TalkdeskError: Error, Hashable, Sendable {
  /// One thing wrong with one member of a body.
  struct Field: Hashable, Sendable {
    /// Where: `contact_phone_number`, `context.fields[0].value`.
    var name: String
    /// What.
    var description: String

    /// The object of it in an answer.
    var value: JSONValue {
      var members = JSONObject()
      members.append("name", .string(name))
      members.append("description", .string(description))
      return .object(members)
    }
  }

  /// The status: 400, 401, 403, 415, 422 or 429.
  var status: Status
  /// For programs.
  var code: String
  /// For people.
  var message: String
  /// More of it.
  var description: String?
  /// The mistakes by field.
  var fields: [Field] = []

  /// The content.
  var content: [UInt8] {
    var members = JSONObject()
    members.append("code", .string(code))
    members.append("message", .string(message))
    if let description { members.append("description", .string(description)) }
    if !fields.isEmpty { members.append("fields", .array(fields.map(\.value))) }
    return JSONValue.object(members).serialized()
  }
}
