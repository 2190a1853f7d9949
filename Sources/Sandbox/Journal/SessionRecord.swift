// The emulator's record of one request to Sendbird, without any token.

import JSON
import Platform

/// The journal's entry for one request to the emulated Sendbird. It never contains a token.
struct SessionRecord: Sendable {
  /// The time at which the request arrived.
  var time: UnixTime
  var target: SendbirdTarget
  var outcome: Outcome
  /// The response's status; nil if there was no response.
  var status: Int?
  /// The `traceparent` field.
  var traceparent: String?

  /// The record as `GET /_sandbox/sessions` shows it.
  var json: JSONValue {
    var members = JSONObject()
    members.append("time", .string(time.rfc3339))
    members.append("outcome", .string(outcome.rawValue))
    members.append("status", status.map { .number(JSONNumber(Int64($0))) } ?? .null)
    switch target {
    case .users: members.append("request", "user")
    case .user(let userID):
      members.append("request", "nickname")
      members.append("user_id", .string(userID.shortened))
    case .token(let userID):
      members.append("request", "token")
      members.append("user_id", .string(userID.shortened))
    }
    if let traceparent { members.append("traceparent", .string(traceparent.shortened)) }
    return .object(members)
  }
}
