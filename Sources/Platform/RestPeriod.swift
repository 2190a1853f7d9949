// A time during which a provider is left alone after a failure.

/// A time during which a provider is left alone after a failure: the cool-down of a token endpoint, or the stop of a sender of notices.
///
/// Requests overlap. A success of a request that was begun before the failure says nothing about the time after it, so `end` ignores
/// that success. A failure of such a request belongs to the failure that is recorded already: see `covers`.
package struct RestPeriod: Sendable {
  /// When it ends; nil while there is none. It stays set after that time, until `end`.
  package private(set) var until: Expiry?
  private var recordedAt: MonotonicTime?

  /// None.
  package init() {}

  /// What is left of it; nil once it is over.
  package func remaining(at now: MonotonicTime) -> Duration? {
    guard let until, now < until else { return nil }
    return until - now
  }

  /// Whether a request begun at a time was under way when the failure was recorded.
  package func covers(_ start: MonotonicTime) -> Bool { recordedAt.map { start < $0 } ?? false }

  /// Records a failure.
  package mutating func begin(at now: MonotonicTime, until end: MonotonicTime) {
    (recordedAt, until) = (now, Expiry(end))
  }

  /// Moves the end to a later time. An earlier time changes nothing.
  package mutating func extend(until end: MonotonicTime) {
    until = until.map { $0.extended(to: Expiry(end), at: end) } ?? Expiry(end)
  }

  /// Ends it after a success.
  ///
  /// - Parameter start: When the request was begun.
  /// - Returns: whether it is over: false for a request that was begun before the failure.
  package mutating func end(startedAt start: MonotonicTime) -> Bool {
    guard !covers(start) else { return false }
    self = RestPeriod()
    return true
  }
}
