// Reads settings from the YAML file, and reports every unknown key.

import Documents

extension PartialConfiguration {
  /// The sections that are not a tree of settings.
  static let ownSections = ["callers", "apps", "rules", ConfigurationBuilder.brakesSection]

  /// The settings in a YAML file. Unknown keys are problems.
  init(file root: DocumentNode, into problems: inout ProblemList) {
    guard case .mapping(let members) = root.content else {
      problems.add(
        root.place, nil,
        Refusal("is \(root.kind), not a mapping", "write sections such as listen: and talkdesk:"))
      return
    }
    read(members, below: "", into: &problems)
  }

  private static let byPath: [String: Setting] = Dictionary(
    Settings.scalars.compactMap { setting in setting.path.map { ($0, setting) } },
    uniquingKeysWith: { first, _ in first })

  private mutating func read(
    _ members: [DocumentNode.Member], below prefix: String, into problems: inout ProblemList
  ) {
    let known = Settings.keys(below: prefix).map(\.name)
    for member in members {
      let (path, node) = (prefix + member.name, member.value)
      if !known.contains(member.name) {
        let (refusal, meant) = Self.unknown(member.name, below: prefix)
        if let meant { self.meant.insert(meant) }
        problems.add(member.place, path, refusal)
      } else if node.isNothing {
        problems.add(member.place, path, .nothing)
      } else if let setting = Self.byPath[path] {
        entries[setting] = Self.entry(setting, node, path, into: &problems)
      } else if Self.ownSections.contains(path) {
        sections[path] = node
      } else if case .mapping(let inner) = node.content {
        read(inner, below: path + ".", into: &problems)
      } else {
        let remedy = "write its keys below it, or { KEY: VALUE }"
        problems.add(node.place, path, Refusal("is \(node.kind), not a section", remedy))
      }
    }
  }

  private static func entry(
    _ setting: Setting, _ node: DocumentNode, _ path: String, into problems: inout ProblemList
  ) -> Entry? {
    switch (setting.form, node.content) {
    case (.text, .text(let text, _)), (.file, .text(let text, _)):
      return Entry(content: .text(text), place: node.place)
    case (.secret, .text(let path, _)):
      return Entry(content: .content(ofFile: path), place: node.place)
    case (.list, .list(let items)):
      var texts: [PlacedText] = []
      for item in items {
        guard case .text(let text, _) = item.content, !item.isNothing else {
          problems.add(item.place, path, Refusal("holds \(item.kind) as an item", "write a list of texts"))
          continue
        }
        texts.append(PlacedText(text: text, place: item.place))
      }
      return Entry(content: .list(texts), place: node.place)
    case (.list, _):
      problems.add(
        node.place, path, Refusal("is \(node.kind), not a list", "write it as [\(setting.example)]"))
    case (_, _):
      problems.add(node.place, path, Refusal("is \(node.kind), not a single value", "write one value"))
    }
    return nil
  }

  /// The problem of an unknown key, and the path that it may have meant.
  private static func unknown(_ name: String, below prefix: String) -> (Refusal, meant: String?) {
    let siblings = Settings.keys(below: prefix).map(\.name).sorted()
    let meant =
      siblings.contains(name + "_file") ? name + "_file" : Spelling.nearest(to: name, among: siblings)
    // Right key, wrong section.
    if meant == nil, let elsewhere = byPath.keys.sorted().first(where: { $0.hasSuffix("." + name) }) {
      return (Refusal("unknown key here", "did you mean \(elsewhere)?"), elsewhere)
    }
    return (.unknownKey(name, known: siblings), meant.map { prefix + $0 })
  }
}
