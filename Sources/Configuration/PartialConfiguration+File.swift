// Reads settings from the YAML file, and reports every unknown key.

import Documents
import Texts

extension PartialConfiguration {
  /// The sections with a shape of their own. All other sections are trees of settings.
  static let ownSections = [
    "callers", "apps", "rules", ConfigurationBuilder.brakesSection, ConfigurationBuilder.appointmentsSection,
    ConfigurationBuilder.desksSection, ConfigurationBuilder.gmsSection,
    ConfigurationBuilder.attestationSection, ConfigurationBuilder.numbersSection,
    ConfigurationBuilder.operatorsSection, ConfigurationBuilder.operatorIssuerSection,
  ]

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
    Settings.scalars.flatMap { setting in
      [setting.path, setting.variablePath].compactMap(\.self).map { ($0, setting) }
    },
    uniquingKeysWith: { first, _ in first })

  /// The variables that keys ending in `_variable` name, at any depth.
  static func variables(namedIn node: DocumentNode) -> Set<String> {
    switch node.content {
    case .text: []
    case .list(let items): items.reduce(into: []) { $0.formUnion(variables(namedIn: $1)) }
    case .mapping(let members):
      members.reduce(into: []) { names, member in
        if member.name.hasSuffix(Setting.variableEnding), let name = member.value.text { names.insert(name) }
        names.formUnion(variables(namedIn: member.value))
      }
    }
  }

  private mutating func read(
    _ members: [DocumentNode.Member], below prefix: String, into problems: inout ProblemList
  ) {
    let known = Settings.keys(below: prefix).map(\.name)
    // After an unquoted comma in a URL, YAML reads the rest of the password as keys. The last of these keys
    // contains the @ before the host.
    let hidesNames =
      known.contains { Self.byPath[prefix + $0]?.holdsSecret == true }
      && members.contains { $0.name.utf8.contains(UInt8(ascii: "@")) }
    for member in members {
      let (path, node) = (prefix + member.name, member.value)
      if !known.contains(member.name) {
        let (refusal, meant) = Self.unknown(member.name, below: prefix)
        if let meant { self.meant.insert(Self.byPath[meant]?.path ?? meant) }
        problems.add(
          member.place, hidesNames ? prefix + "…" : path,
          hidesNames ? Refusal("unknown key", "put quotation marks around the URL") : refusal)
      } else if node.isNothing {
        problems.add(member.place, path, .nothing)
      } else if let setting = Self.byPath[path] {
        if entries[setting] != nil {
          let first = path == setting.path ? setting.variablePath : setting.path
          problems.add(
            member.place, path, Refusal("is set, and so is \(first ?? "")", "keep one of the two"))
        }
        entries[setting] = Self.entry(setting, node, path, into: &problems)
      } else if Self.ownSections.contains(path) {
        sections[path] = node
      } else if case .mapping(let inner) = node.content {
        // A section without keys still turns its feature on.
        if inner.isEmpty { sections[path] = node }
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
    case (.text, .text(let text, _)):
      return Entry(content: .text(text), place: node.place)
    case (.secret, .text(let text, _)), (.file, .text(let text, _)):
      guard path == setting.variablePath else {
        return Entry(content: .content(.file(text)), place: node.place)
      }
      do {
        return Entry(content: .content(.variable(try VariableName.form.read(text))), place: node.place)
      } catch {
        problems.add(node.place, path, error)
      }
      return nil
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
    // The key may be right, but in the wrong section.
    if meant == nil {
      let seen = String(String.UnicodeScalarView(name.unicodeScalars.filter { !$0.isUnseen }))
      if let elsewhere = byPath.keys.sorted().first(where: { $0.hasSuffix("." + seen) }) {
        let refusal = Refusal("unknown key here", "did you mean \(elsewhere)?")
        return (name.firstUnseen == nil ? refusal : .unknownKey(name, known: siblings), elsewhere)
      }
    }
    return (.unknownKey(name, known: siblings), meant.map { prefix + $0 })
  }
}
