// The histogram buckets for durations, from a tenth of a millisecond to half a minute.

/// The buckets for durations. They begin at a tenth of a millisecond, which is more than a cached token
/// takes. They end at half a minute, which is longer than the default deadlines of tokens (10 s) and
/// callbacks (20 s).
public enum DurationBuckets {
  /// The upper bounds in nanoseconds, inclusive, in ascending order. Longer durations fall into one more
  /// bucket.
  public static let bounds: [Int64] = [
    100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
    500_000_000,
    1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, 30_000_000_000,
  ]
  /// The upper bounds for durations of hours, in nanoseconds: from a second to a week. Longer durations fall
  /// into one more bucket.
  public static let longBounds: [Int64] = [
    1, 2, 5, 10, 30, 60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
  ].map { $0 * 1_000_000_000 }
  /// How many buckets there are, the one without a bound included.
  static let count = bounds.count + 1
  /// The bounds in seconds, as in the label `le`.
  static let words = words(of: bounds)

  /// The bounds in seconds, with `+Inf` for the bucket without a bound.
  static func words(of bounds: [Int64]) -> [String] {
    bounds.map { MetricsText.number(Double($0) / 1e9) } + ["+Inf"]
  }

  /// The index of a duration's bucket. Searches from the lowest, because nearly every response falls into the
  /// first.
  @inline(__always) static func index(of nanoseconds: Int64) -> Int {
    let bounds = bounds
    var index = 0
    while index < bounds.count, nanoseconds > bounds[index] { index += 1 }
    return index
  }
}
