// Decides which events of a stream are read, so that a flood of them costs little.

import HTTP
import Platform

/// Reads at most 100 events a second. Of those beyond, only the newest counts, within half a second.
struct LivePace {
  /// How many events are read in a second.
  static let most = 100
  /// How often the newest skipped event is read.
  static let interval = Duration.milliseconds(500)
  /// How many events of a second are read as they arrive. The others are the newest ones of each interval.
  private static let mostAtOnce = most - Int(Duration.seconds(1) / interval)

  private var start: MonotonicTime
  private var count = 0
  private var skipped: StreamedEvent?

  init(now: MonotonicTime) { start = now }

  /// Whether an event is read now.
  mutating func admits(_ event: StreamedEvent, at now: MonotonicTime) -> Bool {
    if now - start >= .seconds(1) { (start, count) = (now, 0) }
    guard count < Self.mostAtOnce else {
      skipped = event
      return false
    }
    count += 1
    skipped = nil
    return true
  }

  /// The newest event, if it was skipped and not returned yet. Call it once in each `interval`.
  mutating func takeSkipped() -> StreamedEvent? {
    defer { skipped = nil }
    return skipped
  }
}
