// Reports one request to Sendbird for logs, metrics and status, without any secret.

package import HTTP
package import Platform
import Tokens

/// The result of one request to Sendbird, without any token, user or secret.
package struct SendbirdReport: Sendable {
  /// The purpose of a request to Sendbird.
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

  /// The purpose of the request.
  package let purpose: Purpose
  /// The time at which the request was sent.
  package let startedAt: MonotonicTime
  /// The time until the response or the failure.
  package let duration: Duration
  /// The failure; nil if the request succeeded.
  package let failure: SendbirdFailure?
  /// The trace span of the request, if any.
  package let trace: TraceContext?

  /// A short fixed word for metrics. An unknown user and an existing user are not errors.
  package var label: String {
    switch failure?.concern {
    case nil: "success"
    case .unknownUser: "unknown_user"
    case .knownUser: "known_user"
    case .everyUser, .thisUser, .perhapsEveryUser: failure?.cause.label ?? ""
    }
  }
}
