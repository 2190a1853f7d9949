// The result of one attempt to send a notice, and whether to retry.

import HTTP
package import Platform

/// The result of an attempt to send a notice.
///
/// Each reason names the provider's status and code for operators' logs. It is printable, and contains no
/// token and no id of a notice.
package enum NoticeVerdict: Hashable, Sendable {
  /// The provider accepted the notice.
  case taken
  /// The provider no longer knows the device. Drop the device, unless it was registered again after the given
  /// time.
  case deviceGone(since: UnixTime?, reason: String)
  /// The provider did not accept the notice, or may have accepted it. Send it again after the given time, or
  /// after a back-off of your own.
  case retry(after: Duration?, reason: String)
  /// The provider did not accept the notice, and named a time for which it wants no notices.
  case restProvider(for: Duration, reason: String)
  /// The provider did not accept the notice, and named a time for which it wants no notices for this device.
  case restDevice(for: Duration, reason: String)
  /// No notice can be sent before an operator changes something. Stop this sender.
  case stopSender(reason: String)
  /// This notice can never be sent, because of a mistake of this program. Give it up and keep the device.
  case giveUp(reason: String)
}

/// What a sender does after a provider's answer, before it returns a verdict.
enum Reaction: Hashable {
  /// Nothing more: the verdict is final.
  case settled(NoticeVerdict)
  /// Send the notice once more with a new credential. If that was done already or is impossible, return this
  /// verdict.
  ///
  /// - Parameter atAnyAge: Whether even a credential that was just made is renewed.
  case renewCredential(atAnyAge: Bool, otherwise: NoticeVerdict)
  /// Send the notice once more with the previous credential. If that was done already or is impossible,
  /// return this verdict.
  case useOlderCredential(otherwise: NoticeVerdict)
  /// Send the notice once more over a new connection. If that was done already or is impossible, return this
  /// verdict.
  case reconnect(otherwise: NoticeVerdict)
  /// The connection ended without an answer, as pooled ones do. Send the notice once more over another. If
  /// that was done already, return this verdict.
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
  /// The longest wait to accept from a provider: longer ones would outlive what most notices point to.
  static let longestWait = Duration.seconds(3600)

  /// The verdict without a response. Whether the notice arrived does not matter: the app recognizes a notice
  /// that it has seen by its id.
  init(_ error: TransportError, from provider: String) {
    let reason = "\(provider): \(error)"
    self =
      error.reason == .invalidURL
      ? .stopSender(reason: reason) : .retry(after: error.retryAfter, reason: reason)
  }

  /// The verdict on a status after which a notice may be sent again. A 429 or 503 with a time in
  /// `Retry-After` applies to every notice of the provider.
  static func retry(_ reply: InboundResponse, now: UnixTime, reason: String) -> Self {
    let wait = RetryAfter.read(reply.fields, now: now.seconds, cap: longestWait)
    guard [429, 503].contains(reply.status), let wait, wait > .zero else {
      return .retry(after: wait, reason: reason)
    }
    return .restProvider(for: wait, reason: reason)
  }

  /// Why the notice was not accepted; nil if it was.
  package var reason: String? {
    switch self {
    case .taken: nil
    case .deviceGone(_, let reason), .retry(_, let reason), .restProvider(_, let reason),
      .restDevice(_, let reason), .stopSender(let reason), .giveUp(let reason):
      reason
    }
  }

  /// Whether the provider named a time for which it wants no notices.
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
  /// At most 64 letters, digits and `_ - .`; nil for anything else, which is then not shown.
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
