// The protocol that carries one order to a provider, and says what certainly, possibly or certainly not happened there.

package import Tokens

/// A provider that can be asked for a call, such as Talkdesk's Callback API.
package protocol Courier: Sendable {
  /// Asks for the call once, and never repeats what may have arrived.
  ///
  /// - Parameters:
  ///   - token: what the provider is asked with.
  ///   - timeout: the whole time allowed.
  ///   - startWithin: the span within which the first byte of the request must leave; after it nothing is sent. Nil: `timeout` alone
  ///     counts.
  ///   - then: is told once what came of it, on any thread, and must not block. No task waits meanwhile: of thousands that wait for
  ///     a provider, each would keep its memory.
  func carry(
    _ order: CallbackOrder, with token: AccessToken, within timeout: Duration,
    startWithin: Duration?, then: @escaping @Sendable (CourierReport) -> Void)
}

extension Courier {
  /// The same for a task that waits. Cancelling it changes nothing.
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

/// What one request to a provider came to.
package struct CourierReport: Sendable {
  /// What is certain about the call.
  package enum Outcome: Sendable {
    /// It was requested.
    case accepted
    /// It was not, so everything may be given back, and it may be requested again.
    case notAccepted(Reason)
    /// It may have been: a second request could ring twice. Whether the provider answered at all.
    case unknown(isAnswered: Bool)
  }

  /// Why a provider accepted nothing.
  package enum Reason: Sendable {
    /// It does not take what the order says. The names of the fields, if it gave them.
    case rejected(fields: [String])
    /// It does not take the token.
    case tokenRefused
    /// It takes the token and does not allow the request.
    case forbidden
    /// It asks for a pause, perhaps without saying for how long.
    case rateLimited(retryAfter: Duration?)
    /// It says that it did nothing, and perhaps when to come again.
    case unavailable(retryAfter: Duration?)
    /// Not one byte was sent.
    case unreachable
    /// It says no for a reason that it does not document.
    case refused
  }

  package let outcome: Outcome
  /// The status of its answer, where one came.
  package let status: Int?
  /// The name by which its support finds the request, where the answer has one.
  package let traceID: String?

  package init(_ outcome: Outcome, status: Int?, traceID: String?) {
    self.outcome = outcome
    self.status = status
    self.traceID = traceID
  }
}
