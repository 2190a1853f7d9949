// The problems that callers get when Talkdesk ID or Sendbird issues no token, or the external signer fails;
// the providers' own words stay in the log.

package import API
import Platform
package import Tokens

extension Problem {
  /// The service that issues tokens, or that signs the requests for them.
  package enum TokenProvider: String {
    case talkdeskID = "Talkdesk ID"
    case sendbird = "Sendbird"
    case signer = "The signer of this server"
  }

  /// The problem returned when no token was issued.
  package init(_ error: TokenError, from provider: TokenProvider = .talkdeskID) {
    let name = provider.rawValue
    switch error {
    case .exchangeFailed(let cause, let wait): self.init(cause, from: provider, retryAfter: wait)
    case .coolingDown(_, let wait): self = .unavailable(name, after: wait)
    case .overloaded(let wait):
      self.init(
        .overloaded,
        "Too many requests are waiting for a token from \(name).",
        tryAgainAfter: wait.wholeSecondsRoundedUp)
    case .deadlineExceeded: self = .late(name)
    // A request's task is canceled only when its client has disconnected.
    case .cancelled: self = .clientLeft
    case .upstreamChanged:
      self.init(
        .upstreamUnavailable,
        "The server's Talkdesk account changed while this request waited, so it was not sent.",
        tryAgainAfter: 1)
    case .shutDown: self = .unavailable(name, after: .seconds(1))
    case .unrecorded: self = .noAudit
    }
  }

  private init(_ error: TokenExchangeError, from provider: TokenProvider, retryAfter wait: Duration) {
    let name = provider.rawValue
    switch error {
    case .refused:
      let refusal =
        switch provider {
        case .talkdeskID: "Talkdesk ID rejected this server's credential or scope."
        case .sendbird: "Sendbird rejected this server's credential or this user."
        case .signer: "The signer of this server refused to sign."
        }
      self.init(.upstreamRefused, "\(refusal) Contact the operator of this server.")
    case .rateLimited, .unavailable, .redirected, .transport:
      self = .unavailable(name, after: wait)
    case .failed: self.init(.upstreamFailed, "\(name) failed.", tryAgainAfter: nil)
    case .unusableReply:
      self.init(.upstreamFailed, "The server cannot use \(name)'s response.")
    case .timedOut:
      self = .late(name)
    case .signer(.signingFailed(_)):
      self.init(.refused(status: 0, code: nil), from: .signer, retryAfter: wait)
    case .signer(let cause): self.init(cause, from: .signer, retryAfter: wait)
    case .signingFailed:
      self.init(.internal, "The server could not sign its request to \(name).")
    }
  }

  private static func unavailable(_ name: String, after wait: Duration) -> Problem {
    Problem(
      .upstreamUnavailable, "\(name) is unavailable.", tryAgainAfter: wait.wholeSecondsRoundedUp)
  }

  private static func late(_ name: String) -> Problem {
    Problem(.upstreamTimeout, "\(name) did not respond in time.")
  }
}
