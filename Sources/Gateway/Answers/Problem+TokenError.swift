// The problems that callers get when Talkdesk ID issues no token; its own words stay in the log.

import API
import Platform
import Tokens

extension Problem {
  /// The problem a failed exchange is to a caller.
  init(_ error: TokenError) {
    switch error {
    case .exchangeFailed(let cause, let wait): self.init(cause, retryAfter: wait)
    case .coolingDown(_, let wait): self = .unavailable(after: wait)
    case .overloaded(let wait):
      self.init(
        .overloaded,
        "Too many requests are waiting for a token from Talkdesk ID. Try again later.",
        retryAfter: wait.wholeSecondsRoundedUp)
    case .deadlineExceeded: self = .late
    // What ends a request's task is that its client left.
    case .cancelled: self = .clientLeft
    case .upstreamChanged:
      self.init(
        .upstreamUnavailable,
        "The server's Talkdesk account changed while this request waited, so it was not sent. Try again.",
        retryAfter: 1)
    case .shutDown: self = .unavailable(after: .seconds(1))
    }
  }

  private init(_ error: TokenExchangeError, retryAfter wait: Duration) {
    switch error {
    case .refused:
      self.init(
        .upstreamRefused,
        "Talkdesk ID does not accept this server's credential or scope. The operator of this server has to fix this."
      )
    case .rateLimited, .unavailable, .transport:
      self = .unavailable(after: wait)
    case .unusableReply:
      self.init(.upstreamFailed, "The server cannot use Talkdesk ID's response.")
    case .timedOut:
      self = .late
    case .signingFailed:
      self.init(.internal, "The server could not sign its request to Talkdesk ID.")
    }
  }

  private static func unavailable(after wait: Duration) -> Problem {
    Problem(
      .upstreamUnavailable, "Talkdesk ID is unavailable. Try again later.",
      retryAfter: wait.wholeSecondsRoundedUp)
  }

  private static var late: Problem { Problem(.upstreamTimeout, "Talkdesk ID did not respond in time.") }
}
