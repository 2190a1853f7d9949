// What became of one attempt to send a notice, and what its caller does next.

import HTTP
package import Platform

/// What became of an attempt to send a notice.
///
/// Each reason names the provider's status and code for operators' logs. It is printable, and holds no token and no id of a notice.
package enum NoticeVerdict: Hashable, Sendable {
  /// The provider took the notice.
  case taken
  /// The provider does not know the device any more. Drop it, unless it was registered again after the given time.
  case deviceGone(since: UnixTime?, reason: String)
  /// The provider did not take the notice, or may have. Send it again after the given time, or after a back-off of your own.
  case retry(after: Duration?, reason: String)
  /// The provider did not take the notice, and named a time in which it wants none.
  case restProvider(for: Duration, reason: String)
  /// The provider did not take the notice, and named a time in which it wants none for this device.
  case restDevice(for: Duration, reason: String)
  /// No notice can be sent before an operator changes something. Stop this sender.
  case stopSender(reason: String)
  /// This notice can never be sent, which is a mistake of this program. Give it up and keep the device.
  case giveUp(reason: String)
}

/// What a provider's answer asks of its sender, before the caller hears of it.
enum Reaction: Hashable {
  /// That is all.
  case settled(NoticeVerdict)
  /// Send it once more with a new credential; if that was done already or is impossible, it comes to this.
  ///
  /// - Parameter atAnyAge: Whether a credential is renewed that has only just come.
  case renewCredential(atAnyAge: Bool, otherwise: NoticeVerdict)
  /// Send it once more with the credential before this one; if that was done already or is impossible, it comes to this.
  case useOlderCredential(otherwise: NoticeVerdict)
  /// Send it once more over a new connection; if that was done already or is impossible, it comes to this.
  case reconnect(otherwise: NoticeVerdict)
  /// The connection ended without an answer, as pooled ones do. Send it once more over the next; if that was done already, it comes to
  /// this.
  case sendAgain(otherwise: NoticeVerdict)

  /// What it comes to without another attempt.
  var verdict: NoticeVerdict {
    switch self {
    case .settled(let verdict), .renewCredential(_, let verdict), .useOlderCredential(let verdict),
      .reconnect(let verdict), .sendAgain(let verdict):
      verdict
    }
  }

  /// What it comes to where no POST is left for another attempt. That alone does not prove the settings wrong.
  var verdictWithoutPosts: NoticeVerdict {
    guard case .stopSender(let reason) = verdict else { return verdict }
    return .retry(after: nil, reason: reason)
  }
}

extension Reaction {
  /// The reaction to no response. libcurl repeats no POST on a connection of a pool that died, so that all POSTs are counted.
  static func withoutAnswer(_ error: TransportError, from provider: String) -> Self {
    let verdict = NoticeVerdict(error, from: provider)
    return error.reason == .connectionLost ? .sendAgain(otherwise: verdict) : .settled(verdict)
  }
}

extension NoticeVerdict {
  /// The longest wait to accept from a provider: longer ones would outlive what most notices point to.
  static let longestWait = Duration.seconds(3600)

  /// No response came. Whether the notice arrived does not matter: the app knows a notice that it has seen by its id.
  init(_ error: TransportError, from provider: String) {
    let reason = "\(provider): \(error)"
    self =
      error.reason == .invalidURL
      ? .stopSender(reason: reason) : .retry(after: error.retryAfter, reason: reason)
  }

  /// The verdict on a status after which a notice may be sent again. A 429 or 503 with a time in `Retry-After` is the provider's word
  /// about every notice.
  static func retry(_ reply: InboundResponse, now: UnixTime, reason: String) -> Self {
    let wait = RetryAfter.read(reply.fields, now: now.seconds, cap: longestWait)
    guard [429, 503].contains(reply.status), let wait, wait > .zero else {
      return .retry(after: wait, reason: reason)
    }
    return .restProvider(for: wait, reason: reason)
  }

  /// Why it was not taken; nil where it was.
  package var reason: String? {
    switch self {
    case .taken: nil
    case .deviceGone(_, let reason), .retry(_, let reason), .restProvider(_, let reason),
      .restDevice(_, let reason), .stopSender(let reason), .giveUp(let reason):
      reason
    }
  }

  /// Whether the provider named a time in which it wants no notice.
  var isRest: Bool {
    switch self {
    case .restProvider, .restDevice: true
    case .taken, .deviceGone, .retry, .stopSender, .giveUp: false
    }
  }

  /// The caller's deadline came before the attempt.
  static func outOfTime(_ provider: String) -> Self {
    .retry(after: nil, reason: "\(provider): no time left before the deadline")
  }
}

/// A provider's own word for an error.
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
