// Reports one request to Sendbird for logs, metrics and status, without any secret.

package import HTTP
package import Platform
import Tokens

/// What happened to one request to Sendbird. Holds no token, no user and no secret.
package struct SendbirdReport: Sendable {
  /// What Sendbird was asked for.
  package enum Purpose: String, Sendable {
    case sessionToken = "session token"
    case newUser = "new user"
    case user
    case nickname
    case customer
    case newCustomer = "new customer"
    case ticket
    case firstMessage = "first message"
  }

  /// What Sendbird was asked for.
  package let purpose: Purpose
  /// When it was sent.
  package let startedAt: MonotonicTime
  /// How long it took.
  package let duration: Duration
  /// Nil for a success.
  package let failure: SendbirdFailure?
  /// The span of the trace it was sent in, if any.
  package let trace: TraceContext?

  /// A short fixed word for metrics. That a user is not known yet, or is known already, is no error.
  package var label: String {
    switch failure?.concern {
    case nil: "success"
    case .unknownUser: "unknown_user"
    case .knownUser: "known_user"
    case .everyUser, .thisUser, .perhapsEveryUser: failure?.cause.label ?? ""
    }
  }
}
