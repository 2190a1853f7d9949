// The error responses of the emulated Callback API, in Talkdesk's format.

import HTTP
import JSON

/// An error of Talkdesk's platform APIs: one envelope for all statuses. Talkdesk documents no values of
/// `code`, so the emulator has its own.
struct TalkdeskError: Error, Hashable, Sendable {
  /// One thing wrong with one member of a body.
  struct Field: Hashable, Sendable {
    /// The member's path: `contact_phone_number`, `context.fields[0].value`.
    var name: String
    /// What is wrong with the member.
    var description: String

    /// The problem as an object in the response.
    var value: JSONValue {
      var members = JSONObject()
      members.append("name", .string(name))
      members.append("description", .string(description))
      return .object(members)
    }
  }

  var status: Status
  /// A code for programs.
  var code: String
  /// A text for people.
  var message: String
  /// A longer explanation.
  var description: String?
  /// The mistakes by field.
  var fields: [Field] = []

  var content: [UInt8] {
    var members = JSONObject()
    members.append("code", .string(code))
    members.append("message", .string(message))
    if let description { members.append("description", .string(description)) }
    if !fields.isEmpty { members.append("fields", .array(fields.map(\.value))) }
    return JSONValue.object(members).serialized()
  }
}
