// Reads the section `outcomes`: how the server learns the outcomes of calls.

import Documents
import JOSE
import Outcomes
import Store

extension ConfigurationBuilder {
  /// Reads `outcomes`. Nil if nothing in it is set, or if the purpose opens no secrets. Outside the sandbox
  /// also nil without the webhook's secret, which is a problem.
  ///
  /// - Parameter url: The first of `external_urls`.
  mutating func outcomes(_ url: String?) -> OutcomeSettings? {
    let places = Settings.outcomes.compactMap { partial.entries[$0]?.place }
    let triggers = list(Settings.outcomeTriggers)
    let events = list(Settings.reachedEvents)
    let window = CallWindow(before: value(Settings.matchBefore), after: value(Settings.matchAfter))
    let over = value(Settings.reachedOver)
    let (reportAt, reportZone) = (stated(Settings.reportAt), value(Settings.reportZone))
    guard let place = places.first, purpose.opensListenerSecrets else { return nil }
    if window.after > value(Settings.retention) {
      problems.add(
        self.place(of: Settings.matchAfter) ?? place, Settings.matchAfter.setting.name,
        Refusal(
          "is longer than callbacks.retention: the server could not tell a deleted callback from another one",
          "make it shorter, or the retention longer"))
    }
    var settings = OutcomeSettings(
      hooks: [hookSecret(Settings.outcomeSecret), hookSecret(Settings.previousOutcomeSecret)].compactMap(
        \.self),
      window: window, reachedOver: over)
    settings.externalURL = stated(Settings.outcomesURL) ?? url
    settings.url = stated(Settings.outcomesAPI)
    if let second = reportAt { settings.report = ReportSettings(second: second, zone: reportZone) }
    if !triggers.isEmpty { settings.triggers = triggers }
    if !events.isEmpty { settings.reachedEvents = events }
    if let place = partial.entries[Settings.reachedEvents.setting]?.place {
      for event in events where !settings.triggers.contains(event) {
        problems.note(
          place,
          "outcomes.reached.events lists \(event.rawValue), which outcomes.triggers does not list: its calls are no outcomes"
        )
      }
    }
    guard partial.entries[Settings.outcomeSecret.setting] != nil else {
      // The sandbox has a secret of its own.
      if purpose == .sandbox { return settings }
      if !partial.meant.contains(Settings.outcomeSecret.setting.name) {
        problems.add(
          place, Settings.outcomeSecret.setting.name,
          Refusal("is missing", "name a file with a secret, as `openssl rand -base64 48` writes it"))
      }
      return nil
    }
    return settings
  }

  private mutating func hookSecret(_ setting: TypedSetting<String>) -> HookSecret? {
    guard let (bytes, place) = secret(setting) else { return nil }
    guard bytes.count >= HookSecret.leastBytes else {
      problems.add(
        place, setting.setting.name,
        Refusal(
          "is shorter than \(HookSecret.leastBytes) bytes", "write one with `openssl rand -base64 48`"))
      return nil
    }
    return HookSecret(Secret(bytes))
  }
}
