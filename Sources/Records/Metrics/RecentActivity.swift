// Decisions and latency of the last hour, from counters that every request adds to anyway.

package import Metrics
package import Platform
import Synchronization

/// The activity of the last hour. Reads the counters once a minute, and also for a report, but then at most
/// once a second.
package final class RecentActivity: Sendable {
  /// The activity of the last hour.
  package struct Report: Sendable {
    /// The decisions of one minute.
    package struct Minute: Sendable {
      /// The start of the minute.
      package let start: UnixTime
      package let allow: Int
      package let deny: Int
      package let error: Int
    }

    /// Every minute, the current one last.
    package let minutes: [Minute]
    /// The decisions by code and rule, the most frequent first.
    package let decisions: [DecisionCounters.Share]
    /// How long responses took, by route.
    package let latencies: [RequestCounters.Latency]
  }

  private struct State: Sendable {
    var decisions = LastHour()
    var durations = LastHour()
    var readAt: MonotonicTime?
  }

  private let metrics: ServiceMetrics
  private let clock: any TimeSource
  private let state = Mutex(State())

  package init(metrics: ServiceMetrics, clock: any TimeSource) {
    self.metrics = metrics
    self.clock = clock
  }

  /// Reads the counters at the beginning of each minute until its task is canceled.
  package func keepRead() async {
    repeat {
      read()
    } while await clock.hasSlept(until: clock.now + .seconds(60 - clock.unixTime.seconds % 60))
  }

  /// Reports the last hour until now.
  package func report() -> Report {
    let now = clock.now
    let isDue = state.withLock { state in state.readAt.map { now - $0 >= .seconds(1) } ?? true }
    if isDue { read() }
    let (decisions, durations) = state.withLock { ($0.decisions, $0.durations) }
    let gains = Dictionary(uniqueKeysWithValues: decisions.kept.map { ($0.number, $0.gains) })
    let current = clock.unixTime.minute
    let minutes = (current - LastHour.minutes + 1...current).map { number in
      let outcomes = metrics.decisions.outcomes(gains[number] ?? [:])
      return Report.Minute(
        start: UnixTime(seconds: number * 60), allow: outcomes.allow, deny: outcomes.deny,
        error: outcomes.error)
    }
    return Report(
      minutes: minutes, decisions: metrics.decisions.shares(decisions.sum),
      latencies: metrics.requests.latencies(durations.sum))
  }

  private func read() {
    state.withLock { state in
      let minute = clock.unixTime.minute
      state.readAt = clock.now
      state.decisions.note(metrics.decisions.totals(), in: minute)
      state.durations.note(metrics.requests.durationTotals(), in: minute)
    }
  }
}

extension UnixTime {
  /// The minute since the epoch.
  fileprivate var minute: Int64 { seconds / 60 }
}
