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
  }

  /// The status: 400, 401, 403, 415, 422 or 429.
  var status: Status
  /// For programs.
  var code: String
  /// For people.
  var message: String
  /// More of it.
  var description: String?
  /// What is wrong where.
  var fields: [Field] = []

  /// The content.
  var content: [UInt8] {
    var members = JSONObject()
    members.append("code", .string(code))
    members.append("message", .string(message))
    if let description { members.append("description", .string(description)) }
    if !fields.isEmpty {
      members.append(
        "fields",
        .array(
          fields.map { field in
            var member = JSONObject()
            member.append("name", .string(field.name))
            member.append("description", .string(field.description))
            return .object(member)
          }))
    }
    return JSONValue.object(members).serialized()
  }
}
