// Reads the members of one configuration mapping by name, and refuses unknown ones.

/// Reads the members of one mapping by name and, at the end, refuses what nobody asked for.
struct MemberReader {
  /// The mapping's name in problems.
  var path: String
  /// Where the mapping stands.
  let place: ConfigurationPlace
  private let members: [ConfigurationNode.Member]
  private var asked: [String] = []

  /// Opens a mapping; anything else is a problem.
  init?(_ node: ConfigurationNode, path: String, into problems: inout ProblemList) {
    guard case .mapping(let members) = node.content else {
      problems.add(
        node.place, path,
        node.isNothing
          ? Refusal("has nothing in it", "fill it in, write {} if that is meant, or remove the line")
          : Refusal("is \(node.kind), not a mapping", "write { KEY: VALUE }"))
      return nil
    }
    self.path = path
    self.place = node.place
    self.members = members
  }

  /// Whether a member is there.
  func has(_ name: String) -> Bool { members.contains { $0.name == name } }

  /// The full name of a member.
  func name(of member: String) -> String { "\(path).\(member)" }

  /// A member as it stands, or nil.
  mutating func node(_ name: String) -> ConfigurationNode? {
    asked.append(name)
    return members.first { $0.name == name }?.value
  }

  /// A single value by its reader, or nil where it is absent or wrong.
  mutating func value<Value>(
    _ name: String, into problems: inout ProblemList, _ read: (String) throws(Refusal) -> Value
  ) -> Value? {
    guard let node = node(name) else { return nil }
    return Self.value(node, self.name(of: name), into: &problems, read)
  }

  /// A single value that must be there.
  mutating func required<Value>(
    _ name: String, _ remedy: String, into problems: inout ProblemList,
    _ read: (String) throws(Refusal) -> Value
  ) -> Value? {
    guard has(name) else {
      asked.append(name)
      problems.add(place, path, Refusal("has no \(name)", remedy))
      return nil
    }
    return value(name, into: &problems, read)
  }

  /// A list of values, each with its place; nil where it is absent or no list. Wrong items are problems and left out.
  mutating func list<Value>(
    _ name: String, into problems: inout ProblemList, _ read: (String) throws(Refusal) -> Value
  ) -> [(value: Value, place: ConfigurationPlace)]? {
    guard let node = node(name) else { return nil }
    let full = self.name(of: name)
    guard case .list(let items) = node.content else {
      problems.add(node.place, full, Refusal("is \(node.kind), not a list", "write it as [ITEM, ITEM]"))
      return nil
    }
    return items.compactMap { item in
      Self.value(item, full, into: &problems, read).map { ($0, item.place) }
    }
  }

  /// Refuses the members nobody asked for, and says whether there were none: what is missing beside a misspelt key is
  /// the same mistake.
  @discardableResult
  func finish(into problems: inout ProblemList) -> Bool {
    let unknown = members.filter { !asked.contains($0.name) }
    for member in unknown {
      let refusal: Refusal
      if asked.contains(member.name + "_file") {
        refusal = Refusal(
          "unknown key", "secrets are not written here: did you mean \(member.name)_file, the path of a file?"
        )
      } else if let meant = Spelling.nearest(to: member.name, among: asked) {
        refusal = Refusal("unknown key", "did you mean \(meant)?")
      } else {
        refusal = Refusal("unknown key", "use one of \(asked.joined(separator: ", "))")
      }
      problems.add(member.place, name(of: member.name), refusal)
    }
    return unknown.isEmpty
  }

  /// The members, for mappings whose names are the operator's own.
  mutating func all() -> [ConfigurationNode.Member] {
    asked += members.map(\.name)
    return members
  }

  private static func value<Value>(
    _ node: ConfigurationNode, _ path: String, into problems: inout ProblemList,
    _ read: (String) throws(Refusal) -> Value
  ) -> Value? {
    guard case .text(let text, _) = node.content, !node.isNothing else {
      problems.add(
        node.place, path,
        node.isNothing
          ? Refusal("has nothing in it", "fill it in, or remove the line")
          : Refusal("is \(node.kind), not a single value", "write one value"))
      return nil
    }
    do {
      return try read(text)
    } catch {
      problems.add(node.place, path, error)
      return nil
    }
  }
}
