// How `callgate doctor` compares the registered triggers with the configuration.

import Configuration
import Outcomes
import Store

extension Doctor {
  /// Reports whether the configured triggers are registered with the current URL, secret and message. Uses
  /// the registrations in the store, because Talkdesk has no list of triggers.
  mutating func report(registered: [StoredTrigger]) {
    guard let settings = configuration.outcomes, let hook = settings.hooks.first else { return }
    guard let url = settings.externalURL else {
      return report.warn(
        "triggers", "outcomes.external_url is not set, so no trigger can be compared",
        fix: "set it to the URL under which Talkdesk reaches this server")
    }
    let missing = settings.triggers.filter { trigger in
      let mark = HookTemplate.mark(of: trigger, hook, externalURL: url)
      return !registered.contains { $0.name == trigger.rawValue && $0.mark == mark }
    }
    guard missing.isEmpty else {
      return report.warn(
        "triggers",
        "not registered with this URL, secret and message: \(missing.map(\.rawValue).joined(separator: ", "))",
        fix: "run callgate talkdesk triggers add")
    }
    report.ok(
      "triggers", "registered: \(settings.triggers.map(\.rawValue).joined(separator: ", "))")
  }
}
