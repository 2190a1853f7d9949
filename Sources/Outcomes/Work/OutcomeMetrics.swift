// Counts call outcomes and events from Talkdesk.

package import Metrics
import Platform
import Store

/// The counters of outcomes.
package final class OutcomeMetrics: Sendable {
  /// The result of matching an event, or a call from a report, to a callback.
  enum Result: String, CaseIterable {
    /// The event matches one callback, which now has its outcome.
    case matched
    /// The event matches several callbacks.
    case ambiguous
    /// The event matches no callback, or a match is not certain yet.
    case unmatched
    /// The event says nothing certain about a call, or nothing new.
    case ignored
  }

  private let outcomes = EventCounter(
    "callgate_outcomes_total", "Callbacks whose outcome Talkdesk has reported, by outcome.",
    labels: ["state", "source", "certainty"],
    series: CallOutcome.State.allCases.flatMap { state in
      CallOutcome.Source.allCases.map { [state.rawValue, $0.rawValue, "matched"] }
    })
  private let delay = EventHistogram(
    "callgate_outcome_delay_seconds", "Time from the end of a call to its outcome in the record.",
    bounds: DurationBuckets.longBounds)
  private let events = EventCounter(
    "callgate_outcome_events_total", "Events of calls from Talkdesk, by result.", labels: ["result"],
    series: Result.allCases.map { [$0.rawValue] })

  package init() {}

  func count(_ result: Result, by amount: Int = 1) { events.count(result.rawValue, by: amount) }

  func told(_ outcome: CallOutcome, after delay: Duration) {
    outcomes.count(outcome.state.rawValue, outcome.source.rawValue, "matched")
    self.delay.observe(nanoseconds: delay.nanosecondsClamped)
  }

  /// Appends the metrics.
  package func append(to text: inout MetricsText) {
    outcomes.append(to: &text)
    delay.append(to: &text)
    events.append(to: &text)
  }
}
