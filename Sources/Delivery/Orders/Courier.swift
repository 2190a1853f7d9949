// The protocol that sends one order to a provider, and reports whether it was certainly, possibly or certainly not accepted.

package import Tokens

/// Requests calls from a provider, such as Talkdesk's Callback API.
package protocol Courier: Sendable {
  /// Requests the call once, and never repeats a request that may have arrived.
  ///
  /// - Parameters:
  ///   - token: The access token of the request.
  ///   - timeout: The time limit of the whole request.
  ///   - startWithin: The time limit of the first byte. After it nothing is sent. Nil: `timeout` alone counts.
  ///   - then: Called once with the result, on any thread; must not block. No task waits meanwhile: each of thousands would keep its
  ///     memory.
  func carry(
    _ order: CallbackOrder, with token: AccessToken, within timeout: Duration,
    startWithin: Duration?, then: @escaping @Sendable (CourierReport) -> Void)
}

extension Courier {
  /// The same for a task that waits. Its cancellation changes nothing.
  func carry(
    _ order: CallbackOrder, with token: AccessToken, within timeout: Duration, startWithin: Duration?
  ) async -> CourierReport {
    await withCheckedContinuation { continuation in
      carry(order, with: token, within: timeout, startWithin: startWithin) {
        continuation.resume(returning: $0)
      }
    }
  }
}

/// The result of one request to a provider.
package struct CourierReport: Sendable {
  /// Whether the call was requested.
  package enum Outcome: Sendable {
    /// It was requested.
    case accepted
    /// It was not. Its allowances may be given back, and it may be requested again.
    case notAccepted(Reason)
    /// It may have been: a second request could ring twice. The value says whether the provider responded.
    case unknown(isAnswered: Bool)
  }

  /// Why a provider accepted nothing.
  package enum Reason: Sendable {
    /// It refuses values of the order, in these fields if it named them.
    case rejected(fields: [String])
    /// It refuses the token.
    case tokenRefused
    /// It accepts the token and does not allow the request.
    case forbidden
    /// It asks for a pause, of this length if it gave one.
    case rateLimited(retryAfter: Duration?)
    /// It did nothing, and asks for a retry after this time if it gave one.
    case unavailable(retryAfter: Duration?)
    /// Not one byte was sent.
    case unreachable
    /// It refuses for an undocumented reason.
    case refused
  }

  package let outcome: Outcome
  /// The status of its response, if there was one.
  package let status: Int?
  /// The provider's id of the request, for its support, if the response has one.
  package let traceID: String?

  package init(_ outcome: Outcome, status: Int?, traceID: String?) {
    self.outcome = outcome
    self.status = status
    self.traceID = traceID
  }
}
