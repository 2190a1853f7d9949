// Reads the `rules` section and reports each mistake at its line in the file.

package import Gate
import Platform

/// Reads the `rules` section: Gate reads the rules, and its mistakes become problems at their places in the file.
extension ConfigurationBuilder {
  /// `rules` and `callbacks.brakes`; without rules, everything is allowed but what the built-in rules refuse.
  mutating func policy(callers: [Configuration.Caller], apps: [Configuration.App]) -> Policy {
    let brakes = brakes()
    guard let section = partial.sections["rules"] else { return Policy(brakes: brakes) }
    let known = KnownNames(callers: Set(callerIDs(callers)), apps: Set(appIDs(apps)))
    switch Policy.reading(RuleNode(section), known: known, brakes: brakes) {
    case .policy(let policy):
      for names in policy.exclusiveHours(at: Instant(sources.clock.unixTime)) {
        problems.note(
          section.place,
          "the opening hours of \(names.joined(separator: ", ")) are never open at the same time: "
            + "every request that they all concern is refused")
      }
      return policy
    case .problems(let found):
      for problem in found {
        problems.add(
          section.place.inSameFile(at: problem.place), problem.key, Refusal(problem.problem, problem.remedy))
      }
      return .open
    }
  }

  /// The ids of apps, those with problems of their own included: one slip is one problem.
  private func appIDs(_ apps: [Configuration.App]) -> [String] {
    guard case .mapping(let members)? = partial.sections["apps"]?.content else { return apps.map(\.id) }
    return apps.map(\.id) + members.map(\.name)
  }
}

extension RuleNode {
  /// A piece of a YAML file as the rules read it.
  package init(_ node: ConfigurationNode) {
    let content: Content =
      switch node.content {
      case .text(let text, _): .text(text)
      case .list(let items): .list(items.map(RuleNode.init))
      case .mapping(let members):
        .mapping(
          members.map { Member($0.name, place: RulePlace($0.place), RuleNode($0.value)) })
      }
    self.init(place: RulePlace(node.place), content)
  }
}

extension RulePlace {
  /// The line and column of a place in a file; unknown for any other.
  init(_ place: ConfigurationPlace) {
    guard case .file(_, let line, let column) = place else {
      self.init()
      return
    }
    self.init(line: line, column: column)
  }
}

extension ConfigurationPlace {
  /// The place a rule's problem names, in the file this place is in; this place where it names none.
  package func inSameFile(at place: RulePlace) -> ConfigurationPlace {
    guard case .file(let name, _, _) = self, place.line > 0 else { return self }
    return .file(name, line: place.line, column: place.column)
  }
}
