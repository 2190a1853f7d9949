// Decides whether and when a failed token request is retried before its deadline.

import HTTP

/// The rules for retrying a failed token request within the deadline of its exchange.
///
/// Requesting a token twice is harmless: an unused token simply expires.
public struct RetryPolicy: Hashable, Sendable {
  /// The maximum number of retries of a failed request.
  public var limit = 2
  /// The shortest wait before a retry.
  public var shortestDelay = Duration.milliseconds(200)
  /// The longest wait before the last retry. The longest wait before each earlier retry is half of the one
  /// after it.
  public var longestDelay = Duration.seconds(2)

  /// Creates a policy with two retries, after 0.2–1 s and 0.2–2 s.
  public init() {}

  /// A policy without retries.
  public static var never: Self {
    var policy = Self()
    policy.limit = 0
    return policy
  }

  /// Whether the same request may succeed in a moment: the provider was not reached, ended the connection or
  /// failed, and named no time to retry.
  package func isPassing(_ error: TokenExchangeError) -> Bool {
    switch error {
    case .unavailable(_, let retryAfter): retryAfter == nil
    // A standby that redirects may be the active server in a moment.
    case .failed, .redirected: true
    case .signer(let error): isPassing(error)
    case .transport(let error):
      switch error.reason {
      case .nameResolution, .connect, .connectionLost: true
      case .invalidURL, .tls, .timedOut, .malformedResponse, .responseTooLarge, .cancelled, .overloaded:
        false
      }
    case .refused, .rateLimited, .unusableReply, .timedOut, .signingFailed: false
    }
  }

  /// The wait before a retry: full jitter between the shortest delay and a ceiling that doubles.
  ///
  /// - Parameters:
  ///   - repetition: 1 for the first retry.
  ///   - unit: a random number in 0..<1.
  package func delay(before repetition: Int, unit: Double) -> Duration {
    let ceiling = longestDelay / (1 << max(0, limit - repetition))
    return shortestDelay + max(.zero, ceiling - shortestDelay) * unit
  }
}
