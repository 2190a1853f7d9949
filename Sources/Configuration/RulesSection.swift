// Reads the `rules` section and reports each mistake at its line in the file.

import Callers
import Documents
import Gate
import Platform

/// Reads the `rules` section: Gate reads the rules, and its mistakes become problems at their positions in
/// the file.
extension ConfigurationBuilder {
  /// `rules` and `callbacks.brakes`. Without rules, the policy allows everything except what the built-in
  /// rules refuse.
  mutating func policy(callers: [ConfiguredCaller], apps: [Configuration.App]) -> Policy {
    let brakes = brakes()
    guard let section = partial.sections["rules"] else { return Policy(brakes: brakes) }
    let known = KnownNames(callers: Set(callerIDs(callers)), apps: Set(appIDs(apps)))
    switch Policy.reading(section, known: known, brakes: brakes) {
    case .policy(let policy):
      for names in policy.exclusiveHours(at: Instant(sources.clock.unixTime)) {
        problems.note(
          section.place,
          "the opening hours of \(names.joined(separator: ", ")) are never open at the same time: "
            + "the server refuses every request that they all apply to")
      }
      return policy
    case .problems(let found):
      problems.add(contentsOf: found)
      return .open
    }
  }

  /// The ids of apps, those with problems of their own included: one slip is one problem.
  private func appIDs(_ apps: [Configuration.App]) -> [String] {
    guard case .mapping(let members)? = partial.sections["apps"]?.content else { return apps.map(\.id) }
    return apps.map(\.id) + members.map(\.name)
  }
}
