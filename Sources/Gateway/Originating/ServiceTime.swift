// How long a callback takes at the moment, as far as that can be told.

internal import Platform

/// The time a callback holds its place at Talkdesk: an average of the last ones that weighs each by an eighth, and never
/// less than the mean age of those that run, so that an upstream that hangs is known to be slow before anything has ended.
struct ServiceTime: Sendable {
  private var average: Duration?
  private var running = 0
  /// The sum of the starting points of those that run, since a base.
  private var starts = Duration.zero
  private let base: MonotonicTime

  /// Nothing is known.
  /// - Parameter base: a point no later than any start, near them: sums stay small.
  init(base: MonotonicTime) { self.base = base }

  /// One begins.
  mutating func begin(at now: MonotonicTime) {
    running += 1
    starts += now - base
  }

  /// One that began at `start` has ended.
  /// - Parameter counts: Whether it tells how long one takes: one that was not sent does not.
  mutating func end(startedAt start: MonotonicTime, at now: MonotonicTime, counts: Bool) {
    running -= 1
    starts -= start - base
    guard counts else { return }
    let sample = max(now - start, .zero)
    average = average.map { $0 + (sample - $0) / 8 } ?? sample
  }

  /// What one takes; zero where nothing is known yet.
  func estimate(at now: MonotonicTime) -> Duration {
    let age = running == 0 ? .zero : (now - base) - starts / running
    return max(average ?? .zero, age)
  }
}
