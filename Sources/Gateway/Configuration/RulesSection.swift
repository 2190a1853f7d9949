/// The seam between the file and the rules: hands the `rules` section, with its places, to whoever reads it.
enum RulesSection {
  /// Reads the section. This version has no rules, and must not let requests through where some were demanded.
  static func read(_ node: ConfigurationNode, into problems: inout ProblemList) {
    guard case .list(let items) = node.content else {
      problems.add(
        node.place, "rules",
        Refusal("is \(node.kind), not a list", "start each rule with - { name: …, kind: … }"))
      return
    }
    for item in items {
      problems.add(
        item.place, "rules",
        Refusal("this version enforces no rules", "remove the rule, or run a version that has them"))
    }
  }
}
