// The emulator's record of one request to send a notice.

import JSON
import Platform

/// The journal's entry of one notice. It shows the whole message, because in the sandbox the page plays the phone.
struct NoticeRecord: Sendable {
  /// Who carries it.
  enum Provider: String, Sendable { case fcm, http }

  /// When it came.
  var time: UnixTime
  /// Who carries it.
  var provider: Provider
  /// The outcome.
  var outcome: Outcome
  /// The status of the answer; nil when there was none.
  var status: Int?
  /// Why it was refused.
  var error: String?
  /// The device and the message, where they were valid.
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

/// A notice that passed a provider's checks.
struct ReceivedNotice: Hashable, Sendable {
  /// The name by which the provider knows the device.
  var device: String
  /// The text that the app gets.
  var message: String
}
