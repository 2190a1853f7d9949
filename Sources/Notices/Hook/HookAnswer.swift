// Decides what each response of a webhook's receiver means for a notification.

import HTTP
import Platform

/// The table from the receiver's status to the verdict (Standard Webhooks, "Delivery").
enum HookAnswer {
  /// The verdict on a response.
  static func verdict(_ reply: InboundResponse, now: UnixTime) -> NoticeVerdict {
    let words = "webhook \(reply.status)"
    switch reply.status {
    case 200..<300: return .taken
    case 410:
      return .stopSender(
        reason: "\(words): the receiver accepts no more notifications; check notices.http.url")
    case 429, 503: return .retry(reply, now: now, reason: words)
    default: return .retry(after: nil, reason: words)
    }
  }
}
