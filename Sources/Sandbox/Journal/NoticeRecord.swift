// The emulator's record of one request to send a push notification.

import JSON
import Platform

/// The journal's entry for one push notification. It contains the full message, because in the sandbox the
/// page plays the phone.
struct NoticeRecord: Sendable {
  enum Provider: String, Sendable { case fcm, http }

  /// The time at which the request arrived.
  var time: UnixTime
  var provider: Provider
  var outcome: Outcome
  /// The response's status; nil if there was no response.
  var status: Int?
  /// The reason for a refusal, in words.
  var error: String?
  /// The device and the message; nil if the request was refused or not checked.
  var notice: ReceivedNotice?

  /// The record as `GET /_sandbox/notices` shows it.
  var json: JSONValue {
    var members = JSONObject()
    members.append("at", .string(time.rfc3339))
    members.append("provider", .string(provider.rawValue))
    members.append("outcome", .string(outcome.rawValue))
    members.append("status", status.map { .number(JSONNumber(Int64($0))) } ?? .null)
    if let error { members.append("error", .string(error)) }
    if let notice {
      members.append("device", .string("…" + notice.device.suffix(4)))
      members.append("message", .string(notice.message))
    }
    return .object(members)
  }
}

/// A push notification that passed a provider's checks.
struct ReceivedNotice: Hashable, Sendable {
  /// The provider's name for the device.
  var device: String
  /// The text that the app receives.
  var message: String
}
