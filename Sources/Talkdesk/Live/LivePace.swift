// Decides which events of an agent stream are read, so that a flood of events costs little.

import HTTP
import Platform

/// A limit of 100 events a second. Of the events beyond it, only the newest is read, within half a second.
struct LivePace {
  /// The maximum number of events that are read in a second.
  static let most = 100
  /// How often the newest skipped event is read.
  static let interval = Duration.milliseconds(500)
  /// The maximum number of events in a second that are read as they arrive. The others are the newest one of
  /// each interval.
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
