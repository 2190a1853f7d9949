// The reasons why no token is vended.

import Platform

/// Why no token is vended.
///
/// For callers of this process: an exchange that failed answers by its cause, `coolingDown` is 503 whatever its cause,
/// `deadlineExceeded` is 504. The waits are upper bounds on this side: after them the next request asks Talkdesk ID again.
public enum TokenError: Error, Sendable {
  /// The exchange failed. The server sends no other one before `retryAfter` is over.
  case exchangeFailed(TokenExchangeError, retryAfter: Duration)
  /// An earlier exchange failed, and it is too early to try again.
  case coolingDown(cause: TokenExchangeError, retryAfter: Duration)
  /// This process has more requests for tokens than can end in time; Talkdesk ID was not asked for this one.
  case overloaded(retryAfter: Duration)
  /// The caller's own deadline passed before the exchange was over.
  case deadlineExceeded
  /// The caller's task was cancelled.
  case cancelled
  /// The token source is shut down.
  case shutDown
  /// The configuration names another endpoint or credential than the caller was made with.
  case upstreamChanged
  /// What was about to be requested could not be recorded, so it was not requested.
  case unrecorded

  /// How long to wait before asking again, where that is known.
  public var retryAfter: Duration? {
    switch self {
    case .exchangeFailed(_, let wait), .coolingDown(_, let wait), .overloaded(let wait): wait
    case .deadlineExceeded, .cancelled, .shutDown, .upstreamChanged, .unrecorded: nil
    }
  }
}

extension TokenError: CustomStringConvertible {
  /// For operators.
  public var description: String {
    switch self {
    case .exchangeFailed(let cause, _): "\(cause)"
    case .coolingDown(let cause, let wait):
      "no request for another \(wait.wholeSecondsRoundedUp) s: \(cause)"
    case .overloaded: "too many requests are waiting for a token"
    case .deadlineExceeded: "no token before the request's deadline"
    case .cancelled: "the request was cancelled"
    case .shutDown: "the token source is shut down"
    case .upstreamChanged: "the configured Talkdesk account has changed"
    case .unrecorded: "the request could not be recorded in the audit log"
    }
  }
}
