// Keeps what counters gained in each minute of the last hour.

/// What counters gained, minute by minute, from totals that are read now and then. Counting itself costs nothing more.
public struct LastHour: Sendable {
  /// How many minutes are kept, the current one included.
  public static let minutes: Int64 = 60

  /// What was gained in a minute.
  public struct Minute: Sendable {
    /// The minute, counted from 1970-01-01T00:00:00Z.
    public let number: Int64
    /// The gains by the counters' numbers, those of 0 left out.
    public internal(set) var gains: [Int: Int]
  }

  /// The minutes in which something was gained, in order.
  public private(set) var kept: [Minute] = []
  private var totals: [Int: Int] = [:]
  private var lastNoted: Int64?

  /// An hour without gains.
  public init() {}

  /// Notes what the counters read now.
  ///
  /// The gains since the last note go to its minute: who notes at the beginning of each minute closes the one before. After a
  /// clock was put back, minutes that are to come are forgotten.
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

  /// The gains of all its minutes together.
  public var sum: [Int: Int] {
    kept.reduce(into: [:]) { $0.merge($1.gains, uniquingKeysWith: +) }
  }
}
