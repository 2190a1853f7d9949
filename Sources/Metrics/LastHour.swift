// Stores how much counters grew in each minute of the last hour.

/// The growth of counters in each minute of the last hour, computed from the totals that `note` gets.
/// Counting itself costs no more.
public struct LastHour: Sendable {
  /// Number of minutes stored, the current one included.
  public static let minutes: Int64 = 60

  /// The growth in one minute.
  public struct Minute: Sendable {
    /// The minute, counted from 1970-01-01T00:00:00Z.
    public let number: Int64
    /// The growth by the counters' numbers; zeros are left out.
    public internal(set) var gains: [Int: Int]
  }

  /// The minutes in which a counter grew, in order.
  public private(set) var kept: [Minute] = []
  private var totals: [Int: Int] = [:]
  private var lastNoted: Int64?

  public init() {}

  /// Records the totals that the counters have now.
  ///
  /// The growth since the last call counts for the minute of that last call. So a call at the beginning of
  /// each minute completes the minute before. If a clock was set back, minutes in the future are removed.
  public mutating func note(_ current: [Int: Int], in minute: Int64) {
    let first = minute - Self.minutes + 1
    kept.removeAll { !(first...minute).contains($0.number) }
    let open = max(first, min(lastNoted ?? minute, minute))
    lastNoted = minute
    var gains: [Int: Int] = [:]
    for (number, total) in current {
      let gain = total - totals[number, default: 0]
      if gain > 0 { gains[number] = gain }
    }
    totals = current
    guard !gains.isEmpty else { return }
    if let index = kept.lastIndex(where: { $0.number == open }) {
      kept[index].gains.merge(gains, uniquingKeysWith: +)
    } else {
      kept.append(Minute(number: open, gains: gains))
    }
  }

  /// The growth over all minutes.
  public var sum: [Int: Int] {
    kept.reduce(into: [:]) { $0.merge($1.gains, uniquingKeysWith: +) }
  }
}
