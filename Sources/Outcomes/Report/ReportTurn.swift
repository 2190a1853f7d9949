// Decides whether an instance requests the report of calls, and for which time span.

package import Gate
import Platform
package import Store

/// The next step of an instance for the report, decided from the state that all instances of a store share.
/// The functions are pure, because the store applies each in one step.
package enum ReportTurn: Hashable, Sendable {
  /// Request the calls that ended in this time span.
  /// - Parameter failed: The number of failed attempts for this report.
  case asks(from: Instant, to: Instant, failed: Int)
  /// Nothing is left to do before the next due time: the report was read, every attempt failed, or this is
  /// the first check of a new store.
  case rests
  /// Another instance is requesting the report, or the last attempt failed recently.
  case waits

  /// The time for which only one instance requests the report. It is longer than Talkdesk may take.
  package static let lease = Duration.seconds(2 * 3600)
  /// The pauses after failed attempts. If the attempt after the last pause fails, too, the calls come with
  /// the next report.
  package static let pauses: [Duration] = [.seconds(600), .seconds(1800), .seconds(3600)]
  /// The longest time span back from now for which the server requests calls.
  package static let furthest = Duration.seconds(7 * 86_400)
  /// The maximum difference between the clocks of instances. A time further ahead was saved with a wrong
  /// clock, and is ignored.
  private static let tolerance = Duration.seconds(3600)

  /// Decides the next step.
  ///
  /// - Parameters:
  ///   - due: The last time at which a report was due.
  ///   - holder: The name of this instance.
  /// - Returns: The state to save, nil for no change, and what to do once it is saved.
  package static func next(
    _ state: ReportState?, due: Instant, at now: Instant, as holder: String
  ) -> (ReportState?, ReportTurn) {
    // Calls that ended before the first start do not belong to this server's callbacks.
    guard var state else { return (ReportState(readUntil: now), .rests) }
    let earliest = now.advanced(by: .zero - furthest)
    if state.readUntil > now.advanced(by: tolerance) { state.readUntil = earliest }
    guard state.readUntil < due else { return (nil, .rests) }
    if let lease = state.lease, lease.holder != holder, isAhead(lease.until, of: now, by: Self.lease) {
      return (nil, .waits)
    }
    if state.failures?.end != due { state.failures = nil }
    if let failures = state.failures {
      guard failures.count <= pauses.count else { return (nil, .rests) }
      if isAhead(failures.next, of: now, by: pauses[pauses.count - 1]) { return (nil, .waits) }
    }
    state.lease = ReportState.Lease(holder: holder, until: now.advanced(by: lease))
    return (
      state, .asks(from: max(state.readUntil, earliest), to: due, failed: state.failures?.count ?? 0)
    )
  }

  /// The state after a report was read to its end or to the size limit; nil if there is no state.
  package static func read(_ state: ReportState?, to end: Instant, as holder: String) -> ReportState? {
    guard var state = released(state, as: holder) ?? state else { return nil }
    state.readUntil = max(state.readUntil, end)
    state.failures = nil
    return state
  }

  /// The state after a failed attempt; nil if another instance has taken over.
  package static func failed(
    _ state: ReportState?, to end: Instant, at now: Instant, as holder: String
  ) -> ReportState? {
    guard var state = released(state, as: holder) else { return nil }
    let count = state.failures.map { $0.end == end ? $0.count : 0 } ?? 0
    let pause = pauses[min(count, pauses.count - 1)]
    state.failures = ReportState.Failures(
      end: end, count: count.addingClamped(1), next: now.advanced(by: pause))
    return state
  }

  /// The state without the lease of an instance; nil if the instance has no lease.
  package static func released(_ state: ReportState?, as holder: String) -> ReportState? {
    guard var state, state.lease?.holder == holder else { return nil }
    state.lease = nil
    return state
  }

  /// Whether a time is in the future, but not further ahead than a correct clock allows.
  private static func isAhead(_ time: Instant, of now: Instant, by most: Duration) -> Bool {
    now < time && time - now <= most + tolerance
  }
}
