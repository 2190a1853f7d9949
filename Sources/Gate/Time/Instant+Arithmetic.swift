// Adds spans to points in time, and measures from one to another.

import Platform

extension Instant {
  /// The point a span later, or earlier for a negative one; saturates far beyond any date.
  public func advanced(by span: Duration) -> Instant {
    let total = Int64(nanoseconds) + span.nanosecondsClamped % 1_000_000_000
    let carry = total.flooredDivision(by: 1_000_000_000)
    return Instant(
      seconds: seconds + span.nanosecondsClamped / 1_000_000_000 + carry.quotient,
      nanoseconds: Int32(carry.remainder))
  }

  /// The span from one point to a later one; negative where it is earlier.
  public static func - (later: Instant, earlier: Instant) -> Duration {
    .seconds(later.seconds - earlier.seconds)
      + .nanoseconds(Int64(later.nanoseconds) - Int64(earlier.nanoseconds))
  }
}
