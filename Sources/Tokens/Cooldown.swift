// Decides how long the server stops requesting tokens after each kind of failure.

import HTTP
package import Platform

/// A pause in token requests after one kind of failure.
package struct Cooldown {
  /// The kinds of failure. They cool down separately: a permanent error must not be retried as often as a
  /// temporary one, and a temporary error must not cause the long wait of a permanent one.
  package enum Kind: CaseIterable { case credential, rateLimit, outage }

  private var period = RestPeriod()
  /// The number of failures in a row that led to this cool-down.
  package private(set) var failures = 0
  /// The latest failure that started a cool-down.
  package private(set) var cause: TokenExchangeError?

  package init() {}

  /// The time left and its cause; nil after the cool-down has ended.
  package func rest(at now: MonotonicTime) -> (cause: TokenExchangeError, remaining: Duration)? {
    guard let cause, let remaining = period.remaining(at: now) else { return nil }
    return (cause, remaining)
  }

  /// Records a failure. Of several exchanges that ran at the same time, only the first failure counts.
  package mutating func record(
    _ error: TokenExchangeError, startedAt: MonotonicTime, now: MonotonicTime, unit: Double
  ) {
    if period.covers(startedAt) {
      // This exchange started before the cool-down, so its failure is already counted. A longer wait that the
      // provider requests still applies.
      period.extend(until: now + (Self.demand(error) ?? .zero))
      return
    }
    failures += 1
    cause = error
    period.begin(at: now, until: now + Self.length(after: error, failures: failures, unit: unit))
  }

  /// Records a success. An exchange that was already running when the cool-down began proves nothing.
  package mutating func succeed(startedAt: MonotonicTime) {
    if period.end(startedAt: startedAt) { self = Cooldown() }
  }

  /// The kind of a failure; nil if the failure says nothing about the provider.
  package static func kind(of error: TokenExchangeError) -> Kind? {
    switch error {
    case .refused, .signingFailed: .credential
    case .rateLimited: .rateLimit
    case .unavailable, .redirected, .failed, .unusableReply, .timedOut: .outage
    case .signer(let error): kind(of: error)
    case .transport(let error): [.cancelled, .overloaded].contains(error.reason) ? nil : .outage
    }
  }

  /// The length of the pause after a number of failures in a row.
  ///
  /// - credential: 30 s, doubling to 5 min, plus up to a tenth at random.
  /// - rate limit: the time that the provider requests, 1–60 s; else 5 s, doubling to 60 s, plus up to a
  ///   fifth at random.
  /// - outage: 0.5 s, doubling to 20 s, plus up to half at random, so 30 s at most; or the time that the
  ///   provider requests, if that is longer.
  static func length(after error: TokenExchangeError, failures: Int, unit: Double) -> Duration {
    let doubled = Double(1 << min(max(failures - 1, 0), 10))
    switch kind(of: error) {
    case nil: return .zero
    case .credential: return .seconds(min(30 * doubled, 300) * (1 + unit / 10))
    case .rateLimit: return demand(error) ?? .seconds(min(5 * doubled, 60) * (1 + unit / 5))
    case .outage:
      let backOff = Duration.seconds(min(0.5 * doubled, 20) * (1 + unit / 2))
      return max(backOff, demand(error) ?? .zero)
    }
  }

  /// The pause that the provider requests, limited to 1–60 seconds; nil if it requests none.
  private static func demand(_ error: TokenExchangeError) -> Duration? {
    switch error {
    case .rateLimited(let wait?), .unavailable(_, let wait?): max(.seconds(1), min(wait, RetryAfter.cap))
    case .signer(let error): demand(error)
    case .rateLimited, .unavailable, .refused, .redirected, .failed, .unusableReply, .timedOut, .transport,
      .signingFailed:
      nil
    }
  }
}

extension TokenExchangeError {
  /// Whether the failure says something about the provider, its credential or its network.
  package var isOfProvider: Bool { Cooldown.kind(of: self) != nil }
}
