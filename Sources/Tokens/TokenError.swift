// The reasons why no token is vended.

import Platform

/// The reason why no token is vended.
///
/// The response to a failed exchange depends on its cause. `coolingDown` is a 503 whatever its cause, and
/// `deadlineExceeded` a 504. Each `retryAfter` is this server's own pause: a request after it starts another
/// exchange, unless another failure has extended the pause.
public enum TokenError: Error, Sendable {
  /// The exchange failed. `retryAfter` is the rest of the cool-down, or 1 s without a cool-down.
  case exchangeFailed(TokenExchangeError, retryAfter: Duration)
  /// An earlier exchange failed, and it is too early for another.
  case coolingDown(cause: TokenExchangeError, retryAfter: Duration)
  /// This server has more token requests, or more requests to one path of the provider, than can end in time.
  /// It sent no request to the provider for this one.
  case overloaded(retryAfter: Duration)
  /// The request's own deadline passed before the exchange ended.
  case deadlineExceeded
  /// The caller's task was canceled.
  case cancelled
  /// The token source is shut down.
  case shutDown
  /// A reload has changed the Talkdesk account that the request started with.
  case upstreamChanged
  /// The request could not be recorded in the audit log, so no token was requested.
  case unrecorded

  /// How long to wait before the next request; nil if unknown.
  public var retryAfter: Duration? {
    switch self {
    case .exchangeFailed(_, let wait), .coolingDown(_, let wait), .overloaded(let wait): wait
    case .deadlineExceeded, .cancelled, .shutDown, .upstreamChanged, .unrecorded: nil
    }
  }
}

extension TokenError: CustomStringConvertible {
  /// A description of the error, for operators.
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
