// The settings for storing, renewing and sharing tokens.

import Platform

/// The rules for storing, renewing and sharing tokens: the `tokens` section of the configuration.
public struct TokenPolicy: Hashable, Sendable {
  /// Whether all requests share one token per scope; otherwise each request gets a fresh one.
  public var share: Bool
  /// The shortest remaining life of a vended token; half of its whole life if that is shorter.
  public var minRemaining: Duration
  /// The time limit of a whole exchange, with its retries.
  public var deadline: Duration
  /// The maximum number of exchanges that run at once if tokens are not shared. More exchanges wait for their
  /// turn, as long as they can still end in time.
  public var separateExchanges: Int

  /// Creates a policy; the defaults are the configuration's.
  public init(
    share: Bool = true, minRemaining: Duration = .seconds(120), deadline: Duration = .seconds(10),
    separateExchanges: Int = 16
  ) {
    precondition(minRemaining >= .zero && deadline > .zero && separateExchanges > 0)
    self.share = share
    self.minRemaining = minRemaining
    self.deadline = deadline
    self.separateExchanges = separateExchanges
  }

  /// The age at which a token is renewed early: at random between 50% and 80% of its life, so that instances
  /// do not renew at the same time. If the remaining life becomes too short to vend the token before 80%,
  /// that age is the upper bound.
  ///
  /// - Parameter unit: a random number in 0..<1.
  func renewalAge(of lifetime: Duration, unit: Double) -> Duration {
    // In whole nanoseconds, the clock's unit: a `Duration` that is multiplied by a fraction loses its last
    // digits.
    let life = lifetime.nanosecondsClamped
    let earliest = life / 2 + life % 2
    let tooShort = life - min(minRemaining.nanosecondsClamped, life / 2)
    let latest = max(earliest, min(life / 5 * 4, tooShort))
    return .nanoseconds(earliest + Int64(Double(latest - earliest) * unit))
  }
}
