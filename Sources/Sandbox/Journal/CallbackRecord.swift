// The emulator's record of one callback request.

import JSON
import Platform

/// The journal's entry for one callback request. It contains full numbers, because the sandbox calls nobody.
struct CallbackRecord: Sendable {
  /// The time at which the request arrived.
  var time: UnixTime
  var outcome: Outcome
  /// The response's status; nil if there was no response.
  var status: Int?
  /// The body, if the request was acted on.
  var body: CallbackBody?
  /// The scopes of the token, separated by spaces; nil if the token is invalid or was not checked.
  var tokenScope: String?
  /// The `Host` field.
  var host: String?
  /// The `traceparent` field.
  var traceparent: String?
  /// The trace id in the response's `platform-tid`.
  var traceID: String

  /// The record as `GET /_sandbox/callbacks` shows it.
  var json: JSONValue {
    var members = JSONObject()
    members.append("time", .string(time.rfc3339))
    members.append("outcome", .string(outcome.rawValue))
    members.append("status", status.map { .number(JSONNumber(Int64($0))) } ?? .null)
    if let body {
      members.append("contact_phone_number", .string(body.contactPhoneNumber))
      members.append("talkdesk_phone_number", .string(body.talkdeskPhoneNumber))
      if let context = body.context { members.append("context", context) }
    }
    if let tokenScope { members.append("token_scope", .string(tokenScope)) }
    if let host { members.append("host", .string(host.shortened)) }
    if let traceparent { members.append("traceparent", .string(traceparent.shortened)) }
    members.append("platform_tid", .string(traceID))
    return .object(members)
  }
}
