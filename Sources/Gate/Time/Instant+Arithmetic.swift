// Adds durations to points in time, and computes the duration between two points.

import Platform

extension Instant {
  /// The instant after a duration, or before it if the duration is negative. The duration is clamped to 292
  /// years, and the result to 64-bit seconds.
  public func advanced(by span: Duration) -> Instant {
    let total = Int64(nanoseconds).addingClamped(span.nanosecondsClamped % 1_000_000_000)
    let carry = total.flooredDivision(by: 1_000_000_000)
    let (sum, overflow) = seconds.addingReportingOverflow(
      span.nanosecondsClamped / 1_000_000_000 + carry.quotient)
    guard !overflow else { return Instant(seconds: seconds < 0 ? .min : .max) }
    return Instant(seconds: sum, nanoseconds: Int32(carry.remainder))
  }

  /// The duration from one instant to a later one; negative if `later` is the earlier one. Clamped to 64-bit
  /// seconds.
  public static func - (later: Instant, earlier: Instant) -> Duration {
    let (seconds, overflow) = later.seconds.subtractingReportingOverflow(earlier.seconds)
    // Not `Int64.min`: the part of a second below it would not fit.
    return .seconds(overflow ? (later < earlier ? .min + 1 : .max) : max(seconds, .min + 1))
      + .nanoseconds(Int64(later.nanoseconds).subtractingClamped(Int64(earlier.nanoseconds)))
  }
}
