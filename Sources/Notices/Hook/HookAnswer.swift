// What each answer of a web hook's receiver means for a notice.

import HTTP
import Platform

/// The table from the receiver's status to the verdict (Standard Webhooks, "Delivery").
enum HookAnswer {
  /// The verdict on a response.
  static func verdict(_ reply: InboundResponse, now: UnixTime) -> NoticeVerdict {
    let words = "web hook \(reply.status)"
    switch reply.status {
    case 200..<300: return .taken
    case 410:
      return .stopSender(reason: "\(words): the receiver wants no more notices; check notices.http.url")
    default:
      let wait =
        [429, 503].contains(reply.status)
        ? RetryAfter.read(reply.fields, now: now.seconds, cap: NoticeVerdict.longestWait) : nil
      return .retry(after: wait, reason: words)
    }
  }
}
