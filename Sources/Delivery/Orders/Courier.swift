// The protocol for sending one order to a provider. The report says whether the provider accepted the order,
// did not accept it, or may have accepted it.

package import Tokens

/// Requests calls from a provider, such as Talkdesk's Callback API.
package protocol Courier: Sendable {
  /// Requests the call once, and never repeats a request that may have arrived.
  ///
  /// - Parameters:
  ///   - token: The access token of the request.
  ///   - timeout: The time limit of the whole request.
  ///   - startWithin: The time limit of the first byte. Nothing is sent after it. Nil if only `timeout`
  ///     applies.
  ///   - then: Called once with the result, on any thread; must not block. A callback instead of a waiting
  ///     task, because thousands of tasks would keep their memory meanwhile.
  func carry(
    _ order: CallbackOrder, with token: AccessToken, within timeout: Duration,
    startWithin: Duration?, then: @escaping @Sendable (CourierReport) -> Void)
}

extension Courier {
  /// Sends an order and waits for the report. Canceling the task changes nothing.
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
    /// The call was requested.
    case accepted
    /// The call was not requested. Its allowances may be given back, and it may be requested again.
    case notAccepted(Reason)
    /// The call may have been requested: a second request could make the phone ring twice. The value says
    /// whether the provider responded.
    case unknown(isAnswered: Bool)
  }

  /// The reason why a provider accepted nothing.
  package enum Reason: Sendable {
    /// The provider refuses values of the order. Contains the fields, if the provider named them.
    case rejected(fields: [String])
    /// The provider refuses the token.
    case tokenRefused
    /// The provider accepts the token, but does not allow the request.
    case forbidden
    /// The provider requests a pause, of the given length if it named one.
    case rateLimited(retryAfter: Duration?)
    /// The provider did nothing, and requests a retry after the given time if it named one.
    case unavailable(retryAfter: Duration?)
    /// No byte was sent.
    case unreachable
    /// The provider refuses for an undocumented reason.
    case refused
  }

  package let outcome: Outcome
  /// The status of the response, if there was one.
  package let status: Int?
  /// The provider's ID of the request, for its support; nil if the response has none.
  package let traceID: String?

  package init(_ outcome: Outcome, status: Int?, traceID: String?) {
    self.outcome = outcome
    self.status = status
    self.traceID = traceID
  }
}
