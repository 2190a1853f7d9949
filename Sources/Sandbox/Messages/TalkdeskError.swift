// The error responses of Talkdesk's emulated APIs, all but the token endpoint, in Talkdesk's format.

import HTTP
import JSON

/// An error of Talkdesk's platform APIs: one envelope for all statuses. Talkdesk documents no values of
/// `code`, so the emulator has its own.
struct TalkdeskError: Error, Hashable, Sendable {
  /// A mistake in one member of a body.
  struct Field: Hashable, Sendable {
    /// The member's path: `contact_phone_number`, `context.fields[0].value`.
    var name: String
    /// The mistake, in words.
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
  /// The code of the error, for programs.
  var code: String
  /// The error in words, for people.
  var message: String
  /// A longer explanation.
  var description: String?
  /// The mistakes, each with the member that has it.
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
