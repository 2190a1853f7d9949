// What an operator decides about outcomes of calls.

package import Store

/// How the server learns outcomes from Talkdesk's events.
package struct OutcomeSettings: Sendable {
  /// The secrets of the hook: the current one, and one that is being replaced.
  package var hooks: [HookSecret]
  /// The URL under which Talkdesk reaches this server, without a slash at its end; nil where it is not known.
  package var externalURL: String?
  /// Talkdesk's API for triggers and reports, without a slash at its end; nil for that of callbacks.
  package var url: String?
  /// The triggers whose events count.
  package var triggers: [CallTrigger]
  /// When the report of calls is asked for; nil for never.
  package var report: ReportSettings?
  /// How far a call may be from its callback.
  package var window: CallWindow
  /// They have spoken with each other if they spoke for longer than this.
  package var reachedOver: Duration
  /// The triggers whose calls are outcomes; nil for all of `triggers`.
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

  /// The hook that a token of a path opens; nil for none.
  package func hook(opening token: String) -> HookSecret? {
    // All are compared, so that the time does not tell which one it is.
    hooks.reduce(nil) { $1.hasPathToken(token) ? $1 : $0 }
  }
}

/// An event of Talkdesk's that ends a call, by the name of its trigger.
package enum CallTrigger: String, CaseIterable, Sendable {
  case outboundCallEnds, inboundCallEnds

  /// The trigger that an event names, whatever its spelling: `outbound_call_ends` is one.
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
