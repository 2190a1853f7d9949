// Decides whether an instance asks for the report of calls, and for which span.

package import Gate
import Platform
package import Store

/// What an instance does about the report, by the state that all instances of a store share. Pure: the store applies it in one step.
package enum ReportTurn: Hashable, Sendable {
  /// Asks for the calls that ended in a span.
  /// - Parameter failed: How many tries of this report have failed.
  case asks(from: Instant, to: Instant, failed: Int)
  /// Nothing is to be read before the next time.
  case rests
  /// Another instance is asking, or the last try has failed not long ago.
  case waits

  /// So long no other instance asks: longer than Talkdesk may take.
  package static let lease = Duration.seconds(2 * 3600)
  /// The pauses after failed tries. After one more try, the calls come with the next report.
  package static let pauses: [Duration] = [.seconds(600), .seconds(1800), .seconds(3600)]
  /// How far back calls are asked for.
  package static let furthest = Duration.seconds(7 * 86_400)
  /// By how much clocks of instances may differ. A time beyond that was noted with a wrong clock, and says nothing.
  private static let tolerance = Duration.seconds(3600)

  /// What to do now.
  ///
  /// - Parameters:
  ///   - due: The last time at which a report was due.
  ///   - holder: The name of this instance.
  /// - Returns: The state to save, nil for no change, and what to do once it is saved.
  package static func next(
    _ state: ReportState?, due: Instant, at now: Instant, as holder: String
  ) -> (ReportState?, ReportTurn) {
    // What ended before the first start is no call of this server's callbacks.
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

  /// The state after a report was read to its end.
  package static func read(_ state: ReportState?, to end: Instant, as holder: String) -> ReportState? {
    guard var state = released(state, as: holder) ?? state else { return nil }
    state.readUntil = max(state.readUntil, end)
    state.failures = nil
    return state
  }

  /// The state after a try has failed; nil if another instance has taken over.
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

  /// The state without the lease of an instance; nil if it has none.
  package static func released(_ state: ReportState?, as holder: String) -> ReportState? {
    guard var state, state.lease?.holder == holder else { return nil }
    state.lease = nil
    return state
  }

  /// Whether a time is in the future, and no further than it can be.
  private static func isAhead(_ time: Instant, of now: Instant, by most: Duration) -> Bool {
    now < time && time - now <= most + tolerance
  }
}
