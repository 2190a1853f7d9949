// The result of one attempt to send a push notification, and whether to retry.

import HTTP
package import Platform

/// The result of an attempt to send a notification.
///
/// Each reason names the provider's status and code for operators' logs. It is printable, and contains no
/// token and no id of a notification.
package enum NoticeVerdict: Hashable, Sendable {
  /// The provider accepted the notification.
  case taken
  /// The provider no longer knows the device. Drop the device, unless it was registered again after the given
  /// time.
  case deviceGone(since: UnixTime?, reason: String)
  /// The provider did not accept the notification, its response is missing, or nothing was sent. Send the
  /// notification again after the given time; without a time, after a back-off that the caller chooses.
  case retry(after: Duration?, reason: String)
  /// The provider did not accept the notification, or Google's token endpoint issued no token. It named a
  /// time for which it wants no requests.
  case restProvider(for: Duration, reason: String)
  /// The provider did not accept the notification, and named a time for which it wants no notifications for
  /// this device.
  case restDevice(for: Duration, reason: String)
  /// No notification can be sent before an operator changes something. Stop this sender.
  case stopSender(reason: String)
  /// This notification cannot be sent, because of a mistake in this program, or in settings that do not
  /// concern every notification. Give the notification up and keep the device.
  case giveUp(reason: String)
}

/// The sender's next step after a provider's response, before it returns a verdict.
enum Reaction: Hashable {
  /// Nothing more: the verdict is final.
  case settled(NoticeVerdict)
  /// Send the notification once more with a new credential. If that was done already or is impossible, return
  /// this verdict.
  ///
  /// - Parameter atAnyAge: Whether even a credential that was just made is renewed.
  case renewCredential(atAnyAge: Bool, otherwise: NoticeVerdict)
  /// Send the notification once more with the previous credential. If that was done already or is impossible,
  /// return this verdict.
  case useOlderCredential(otherwise: NoticeVerdict)
  /// Send the notification once more over a new connection. If that was done already or is impossible, return
  /// this verdict.
  case reconnect(otherwise: NoticeVerdict)
  /// The connection ended without a response, as pooled connections may. Send the notification once more over
  /// another connection. If that was done already, return this verdict.
  case sendAgain(otherwise: NoticeVerdict)

  /// The verdict without another attempt.
  var verdict: NoticeVerdict {
    switch self {
    case .settled(let verdict), .renewCredential(_, let verdict), .useOlderCredential(let verdict),
      .reconnect(let verdict), .sendAgain(let verdict):
      verdict
    }
  }

  /// The verdict if no POST is left for another attempt. Without that attempt it is not certain that the
  /// settings are wrong, so the sender is not stopped.
  var verdictWithoutPosts: NoticeVerdict {
    guard case .stopSender(let reason) = verdict else { return verdict }
    return .retry(after: nil, reason: reason)
  }
}

extension Reaction {
  /// The reaction to a missing response. libcurl does not repeat a POST when a pooled connection has died, so
  /// every POST is counted.
  static func withoutAnswer(_ error: TransportError, from provider: String) -> Self {
    let verdict = NoticeVerdict(error, from: provider)
    return error.reason == .connectionLost ? .sendAgain(otherwise: verdict) : .settled(verdict)
  }
}

extension NoticeVerdict {
  /// The longest `Retry-After` that the server respects. Most notifications expire before a longer wait ends.
  static let longestWait = Duration.seconds(3600)

  /// The verdict without a response. Whether the notification arrived does not matter: the app recognizes a
  /// notification that it has seen by its id.
  init(_ error: TransportError, from provider: String) {
    let reason = "\(provider): \(error)"
    self =
      error.reason == .invalidURL
      ? .stopSender(reason: reason) : .retry(after: error.retryAfter, reason: reason)
  }

  /// The verdict on a status after which a notification may be sent again. A 429 or 503 with a time in
  /// `Retry-After` applies to every notification of the provider.
  static func retry(_ reply: InboundResponse, now: UnixTime, reason: String) -> Self {
    let wait = RetryAfter.read(reply.fields, now: now.seconds, cap: longestWait)
    guard [429, 503].contains(reply.status), let wait, wait > .zero else {
      return .retry(after: wait, reason: reason)
    }
    return .restProvider(for: wait, reason: reason)
  }

  /// The reason why the notification was not accepted; nil if it was.
  package var reason: String? {
    switch self {
    case .taken: nil
    case .deviceGone(_, let reason), .retry(_, let reason), .restProvider(_, let reason),
      .restDevice(_, let reason), .stopSender(let reason), .giveUp(let reason):
      reason
    }
  }

  /// Whether the provider named a time for which it wants no notifications.
  var isRest: Bool {
    switch self {
    case .restProvider, .restDevice: true
    case .taken, .deviceGone, .retry, .stopSender, .giveUp: false
    }
  }

  /// The verdict if the deadline passed before the attempt.
  static func outOfTime(_ provider: String) -> Self {
    .retry(after: nil, reason: "\(provider): no time left before the deadline")
  }
}

/// A provider's own error code.
enum ProviderCode {
  /// Returns a code of 1–64 letters, digits and `_ - .`. Nil for anything else, so that it is not logged.
  static func read(_ text: String?) -> String? {
    guard let text, (1...64).contains(text.utf8.count),
      text.utf8.allSatisfy({ octet in
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D, 0x2E: true
        default: false
        }
      })
    else { return nil }
    return text
  }
}
