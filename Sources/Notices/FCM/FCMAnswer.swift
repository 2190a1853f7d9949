// Decides what each response of FCM means for a notification.

import HTTP
import JSON
import Platform

/// The table from FCM's error code and status to the reaction.
///
/// Source: Firebase's reference of `FcmError` and `google.rpc.Status`. The error code decides; if it is
/// missing or unknown, the status decides.
enum FCMAnswer {
  /// The pause after an exceeded quota if the response names no time.
  static let quotaWait = Duration.seconds(60)
  /// FCM's message for a device token that it cannot read. A response with this message may not name the
  /// field.
  private static let invalidDevice = "The registration token is not a valid FCM registration token"

  /// The reaction to a response.
  static func reaction(_ reply: InboundResponse, now: UnixTime) -> Reaction {
    guard !(200..<300).contains(reply.status) else { return .settled(.taken) }
    let error = error(reply.content)
    let details = error?["details"]?.array ?? []
    let code = ProviderCode.read(
      details.lazy.filter { type(of: $0, is: "google.firebase.fcm.v1.FcmError") }
        .compactMap { $0["errorCode"]?.string }.first)
    let words =
      "FCM \(reply.status)" + ((code ?? ProviderCode.read(error?["status"]?.string)).map { " \($0)" } ?? "")
    let retry = NoticeVerdict.retry(reply, now: now, reason: words)

    switch code {
    case "UNREGISTERED": return .settled(.deviceGone(since: nil, reason: words))
    case "SENDER_ID_MISMATCH":
      return .settled(
        .deviceGone(since: nil, reason: "\(words); the device belongs to another Firebase project"))
    case "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR":
      // Only Apple devices are affected, so notifications to Android devices continue.
      return .settled(
        .giveUp(reason: "\(words); check the APNs key in the Firebase console, Cloud Messaging"))
    case "QUOTA_EXCEEDED": return .settled(overQuota(retry))
    case "INTERNAL", "UNAVAILABLE": return .settled(retry)
    default: break
    }

    switch reply.status {
    case 400:
      let isDevice = details.contains { detail in
        type(of: detail, is: "google.rpc.BadRequest")
          && detail["fieldViolations"]?.array?.contains { $0["field"] == "message.token" } == true
      }
      let isUnreadable = error?["message"] == .string(invalidDevice)
      return .settled(
        isDevice || isUnreadable ? .deviceGone(since: nil, reason: words) : .giveUp(reason: words))
    case 401:
      return .renewCredential(
        atAnyAge: true, otherwise: .stopSender(reason: "\(words); check the service account"))
    case 403:
      return .settled(
        .stopSender(reason: "\(words); let the service account send messages, and enable the FCM API"))
    case 404:
      return .settled(.stopSender(reason: "\(words); check project_id in the service account's file"))
    case 429: return .settled(overQuota(retry))
    case 408, 500...599: return .settled(retry)
    case 300..<400: return .settled(.stopSender(reason: "\(words); check notices.fcm.url"))
    default: return .settled(.giveUp(reason: words))
    }
  }

  /// The verdict on an exceeded quota. It may be the quota of one device, so without `Retry-After` other
  /// devices still get their notifications.
  private static func overQuota(_ retry: NoticeVerdict) -> NoticeVerdict {
    guard case .retry(after: nil, let reason) = retry else { return retry }
    return .retry(after: quotaWait, reason: reason)
  }

  private static func error(_ content: [UInt8]) -> JSONObject? {
    do {
      return try JSONValue(parsing: content)["error"]?.object
    } catch {
      // The content is not JSON, such as a proxy's HTML page: the status decides.
      return nil
    }
  }

  private static func type(of detail: JSONValue, is name: String) -> Bool {
    detail["@type"] == .string("type.googleapis.com/\(name)")
  }
}
