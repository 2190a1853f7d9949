// The error responses of the `/_sandbox/` endpoints, as problem documents.

import HTTP
import JSON

/// An error of a `/_sandbox/` endpoint, in the gateway's format (RFC 9457) instead of Talkdesk's.
struct ControlRefusal: Error, Hashable, Sendable {
  var status: Status
  var code: String
  /// The mistake in the request, as a sentence.
  var detail: String
  /// The mistakes, each with the member that has it.
  var fields: [TalkdeskError.Field] = []
  /// The methods for `Allow`, if the request's method is the problem.
  var allow: [Method] = []

  /// The error for an invalid fault.
  static func invalid(_ fields: [TalkdeskError.Field]) -> Self { invalid("The fault is not valid.", fields) }

  /// The error for a body with invalid members.
  static func invalid(_ detail: String, _ fields: [TalkdeskError.Field]) -> Self {
    Self(status: .unprocessableContent, code: "invalid_request", detail: detail, fields: fields)
  }

  /// The error for a body that is not JSON.
  static func invalidJSON(at offset: Int) -> Self {
    Self(
      status: .badRequest, code: "invalid_json",
      detail: "The body is not valid JSON at byte \(offset).")
  }

  /// The response. `instance` is the request's id.
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
