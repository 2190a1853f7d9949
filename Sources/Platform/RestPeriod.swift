// A pause in the requests to a provider after a failure.

/// A time without requests to a provider after a failure: the cool-down of a token endpoint, or the pause of
/// a sender of notifications.
///
/// Requests overlap. A success of a request that was begun before the failure says nothing about the time
/// after it, so `end` ignores that success. A failure of such a request belongs to the failure that is
/// recorded already: see `covers`.
package struct RestPeriod: Sendable {
  /// The end of the period; nil if there is none. The value stays set after that time, until `end`.
  package private(set) var until: Expiry?
  private var recordedAt: MonotonicTime?

  package init() {}

  /// The time that is left; nil if there is no period, or it has ended.
  package func remaining(at now: MonotonicTime) -> Duration? {
    guard let until, now < until else { return nil }
    return until - now
  }

  /// Whether a request that began at a time was running when the failure was recorded.
  package func covers(_ start: MonotonicTime) -> Bool { recordedAt.map { start < $0 } ?? false }

  /// Records a failure.
  package mutating func begin(at now: MonotonicTime, until end: MonotonicTime) {
    (recordedAt, until) = (now, Expiry(end))
  }

  /// Moves the end to a later time. An earlier time changes nothing. Without a period, starts one that ends
  /// at this time.
  package mutating func extend(until end: MonotonicTime) {
    until = until.map { $0.extended(to: Expiry(end), at: end) } ?? Expiry(end)
  }

  /// Ends the period after a success.
  ///
  /// - Parameter start: The time at which the request was begun.
  /// - Returns: True if no period remains; false for a request that was begun before the failure.
  package mutating func end(startedAt start: MonotonicTime) -> Bool {
    guard !covers(start) else { return false }
    self = RestPeriod()
    return true
  }
}
