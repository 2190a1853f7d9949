// Decides how long the server stops requesting tokens after each kind of failure.

import HTTP
package import Platform

/// A time during which the provider of tokens is left alone, after one kind of failure.
package struct Cooldown {
  /// The kinds: a permanent error must not be hammered like a passing one, nor a passing one be waited for like a
  /// permanent one.
  package enum Kind: CaseIterable { case credential, rateLimit, outage }

  private var period = RestPeriod()
  /// How many failures in a row brought it about.
  package private(set) var failures = 0
  /// What failed last.
  package private(set) var cause: TokenExchangeError?

  /// None.
  package init() {}

  /// What is left of it, and why it is; nil once it is over.
  package func rest(at now: MonotonicTime) -> (cause: TokenExchangeError, remaining: Duration)? {
    guard let cause, let remaining = period.remaining(at: now) else { return nil }
    return (cause, remaining)
  }

  /// Takes note of a failure. Of several exchanges that ran at the same time only the first failure counts.
  package mutating func record(
    _ error: TokenExchangeError, startedAt: MonotonicTime, now: MonotonicTime, unit: Double
  ) {
    if period.covers(startedAt) {
      // It belongs to the failures already counted; a longer wait that it asks for is still obeyed.
      period.extend(until: now + (Self.demand(error) ?? .zero))
      return
    }
    failures += 1
    cause = error
    period.begin(at: now, until: now + Self.length(after: error, failures: failures, unit: unit))
  }

  /// Takes note of a success. One that was under way when the cool-down began proves nothing.
  package mutating func succeed(startedAt: MonotonicTime) {
    if period.end(startedAt: startedAt) { self = Cooldown() }
  }

  /// What a failure cools down; nil for one that says nothing about the provider.
  package static func kind(of error: TokenExchangeError) -> Kind? {
    switch error {
    case .refused, .signingFailed: .credential
    case .rateLimited: .rateLimit
    case .unavailable, .redirected, .failed, .unusableReply, .timedOut: .outage
    case .signer(let error): kind(of: error)
    case .transport(let error): [.cancelled, .overloaded].contains(error.reason) ? nil : .outage
    }
  }

  /// The pause after so many failures in a row.
  ///
  /// - credential: 30 s, doubling to 5 min, up to a tenth more at random.
  /// - rate limit: the provider's own time, 1–60 s; else 5 s, doubling to 60 s, up to a fifth more.
  /// - outage: 0.5 s, doubling to 20 s, up to half as much again at random, so 30 s at most; or the
  ///   provider's own time.
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

  /// The pause that the reply asks for, at least a second.
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
  /// Whether it says something about the provider, its credential or its network.
  package var isOfProvider: Bool { Cooldown.kind(of: self) != nil }
}
