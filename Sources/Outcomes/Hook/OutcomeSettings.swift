// The operator's settings for call outcomes.

package import Store

/// Settings for call outcomes from Talkdesk's events and reports.
package struct OutcomeSettings: Sendable {
  /// The secrets of the webhook: the current one, and one that is being replaced.
  package var hooks: [HookSecret]
  /// The URL at which Talkdesk reaches this server, without a slash at the end; nil if unknown.
  package var externalURL: String?
  /// The URL of Talkdesk's API for triggers and reports, without a slash at the end; nil to use the URL for
  /// callbacks.
  package var url: String?
  /// The triggers whose events count.
  package var triggers: [CallTrigger]
  /// The time of day at which the server requests the report of calls; nil for never.
  package var report: ReportSettings?
  /// The allowed time between the hand-over of a callback to Talkdesk and the start of its call.
  package var window: CallWindow
  /// A call counts as reached if its talk time is longer than this.
  package var reachedOver: Duration
  /// The triggers whose calls count as outcomes; nil for all of `triggers`.
  package var reachedEvents: [CallTrigger]?

  package init(
    hooks: [HookSecret], triggers: [CallTrigger] = [.outboundCallEnds, .inboundCallEnds],
    window: CallWindow = CallWindow(before: .seconds(10), after: .seconds(7200)),
    reachedOver: Duration = .zero, reachedEvents: [CallTrigger]? = nil
  ) {
    self.hooks = hooks
    self.triggers = triggers
    self.window = window
    self.reachedOver = reachedOver
    self.reachedEvents = reachedEvents
  }

  /// The webhook whose path has this token; nil if there is none.
  package func hook(opening token: String) -> HookSecret? {
    // Compare all of them, so that the time does not reveal which one matches.
    hooks.reduce(nil) { $1.hasPathToken(token) ? $1 : $0 }
  }
}

/// A Talkdesk event for the end of a call, by the name of its trigger.
package enum CallTrigger: String, CaseIterable, Sendable {
  case outboundCallEnds, inboundCallEnds

  /// The trigger that an event names, in any spelling, such as `outbound_call_ends`.
  init?(event: String) {
    let letters = { (text: String) in
      text.utf8.map { $0 | 0x20 }.filter { (0x61...0x7A).contains($0) }
    }
    guard let trigger = Self.allCases.first(where: { letters($0.rawValue) == letters(event) }) else {
      return nil
    }
    self = trigger
  }
}
