// The error responses of the `/_sandbox/` endpoints, as problem documents.

import HTTP
import JSON

/// A refusal of `/_sandbox/`, which speaks the gateway's language (RFC 9457) and not Talkdesk's.
struct ControlRefusal: Error, Hashable, Sendable {
  /// The status.
  var status: Status
  /// The code.
  var code: String
  /// The mistake in the request.
  var detail: String
  /// The mistakes by field.
  var fields: [TalkdeskError.Field] = []
  /// The methods to name in `Allow`, where the method was the trouble.
  var allow: [Method] = []

  /// A fault that cannot be understood.
  static func invalid(_ fields: [TalkdeskError.Field]) -> Self { invalid("The fault is not valid.", fields) }

  /// A content that cannot be understood.
  static func invalid(_ detail: String, _ fields: [TalkdeskError.Field]) -> Self {
    Self(status: .unprocessableContent, code: "invalid_request", detail: detail, fields: fields)
  }

  /// A content that is not JSON.
  static func invalidJSON(at offset: Int) -> Self {
    Self(
      status: .badRequest, code: "invalid_json",
      detail: "The body is not valid JSON at byte \(offset).")
  }

  /// The answer. `instance` is the request's id.
  func reply(instance: String) -> Reply {
    var members = JSONObject()
    members.append("type", .string("urn:callgate:problem:\(code)"))
    members.append("title", .string(status.reason))
    members.append("status", .number(JSONNumber(Int64(status.code))))
    members.append("detail", .string(detail))
    members.append("instance", .string(instance))
    members.append("code", .string(code))
    members.append("message", .string(status.reason))
    if !fields.isEmpty { members.append("fields", .array(fields.map(\.value))) }
    return Reply(
      status, contentType: "application/problem+json", content: JSONValue.object(members).serialized(),
      fields: allow.isEmpty ? [:] : ["Allow": allow.map(\.rawValue).joined(separator: ", ")])
  }
}
