// Reads the members of a mapping by their declared keys, and reports unknown keys.

/// A mapping that is being read. Every mistake becomes a problem and reading continues, so that all mistakes
/// are found at once.
package struct MappingReader {
  /// The name of the mapping in problems: its path, such as `rules[2]`, or for a rule with a name, `rule
  /// "opening-hours"`.
  package var path: String
  package let node: DocumentNode
  /// The problems so far.
  package private(set) var problems: [DocumentProblem] = []
  private var asked: Set<String> = []
  /// The problems of missing keys that are required, by name.
  private var missing: [String: DocumentProblem] = [:]

  /// Starts reading. Anything but a mapping is a problem.
  package init(_ node: DocumentNode, path: String, remedy: String = "write { KEY: VALUE }") {
    self.node = node
    self.path = path
    guard !isMapping else { return }
    report(
      node.isNothing
        ? Refusal("is empty", "fill it in, write {} if that is meant, or remove the line")
        : Refusal("is \(node.kind), not a mapping", remedy))
  }

  /// Whether there is a mapping to read.
  package var isMapping: Bool { if case .mapping = node.content { true } else { false } }

  /// The name of a key in problems: the mapping's path, and the key.
  package func name(of key: String) -> String {
    let joint =
      key.isEmpty || key.hasPrefix("[") || path.isEmpty ? "" : path.hasSuffix("\"") ? ": " : "."
    return path + joint + key
  }

  /// Records a mistake at the position of its key.
  package mutating func report(_ refusal: Refusal, at place: DocumentPlace? = nil) {
    problems.append(
      DocumentProblem(place ?? node.place(of: refusal.key), name(of: refusal.key), refusal))
  }

  /// Adds the problems found in a nested reader.
  package mutating func report(_ more: [DocumentProblem]) { problems += more }

  /// Runs a step that may find a mistake. Reports the mistake, and then returns nil.
  package mutating func attempt<Value>(_ step: () throws(Refusal) -> Value) -> Value? {
    do {
      return try step()
    } catch {
      report(error)
      return nil
    }
  }

  // MARK: Members

  /// Whether the mapping has a member.
  package func has(_ name: String) -> Bool { node[name] != nil }

  /// The node under a key; nil if the key is missing.
  package mutating func node(_ name: String) -> DocumentNode? {
    asked.insert(name)
    return node[name]
  }

  /// The value under a key; nil if the key is missing or the value is wrong.
  package mutating func value<Value>(_ key: Key<Value>) -> Value? {
    guard let node = required(key) else { return nil }
    return value(node, at: key.name, key.form)
  }

  /// The values under a key. A value that occurs twice is reported as a problem. A single value counts as a
  /// list of one, unless the key's shape is a list. Nil if the key is missing or one of the values is wrong.
  package mutating func values<Value: Hashable>(_ key: Key<Value>) -> [Value]? {
    guard let node = required(key) else { return nil }
    if case (.list, .text) = (key.shape, node.content), !node.isNothing {
      report(Refusal.noList(node.kind).under(key.name))
      return nil
    }
    var seen: Set<Value> = []
    return values(node, at: key.name, key.form)?.map { value in
      if !seen.insert(value.value).inserted { report(Refusal.twin.under(key.name), at: value.place) }
      return value.value
    }
  }

  /// The members of the mapping under a key; nil if the key is missing or its value is not a mapping.
  package mutating func members(_ key: NestedKey, _ remedy: String) -> [DocumentNode.Member]? {
    guard let node = required(key) else { return nil }
    guard case .mapping(let members) = node.content else {
      report(
        node.isNothing
          ? Refusal.nothing.under(key.name) : Refusal(at: key.name, "is \(node.kind), not a mapping", remedy))
      return nil
    }
    return members
  }

  /// The value of a node found under a key. Nil after a problem.
  package mutating func value<Value>(_ node: DocumentNode, at key: String, _ form: TextForm<Value>) -> Value?
  {
    guard case .text(let text, _) = node.content, !node.isNothing else {
      report(
        node.isNothing
          ? Refusal.nothing.under(key)
          : Refusal(at: key, "is \(node.kind), not a single value", "write one value"))
      return nil
    }
    return attempt { () throws(Refusal) in
      do throws(Refusal) { return try form.read(text) } catch { throw error.under(key) }
    }
  }

  /// The values of a node found under a key, with their positions. Nil after a problem.
  package mutating func values<Value>(
    _ node: DocumentNode, at key: String, _ form: TextForm<Value>
  ) -> [(value: Value, place: DocumentPlace)]? {
    switch node.content {
    case .list(let items):
      let values = items.enumerated().compactMap { index, item in
        value(item, at: "\(key)[\(index)]", form).map { ($0, item.place) }
      }
      return values.count == items.count ? values : nil
    case .text where !node.isNothing:
      return value(node, at: key, form).map { [($0, node.place)] }
    case .text, .mapping:
      report((node.isNothing ? Refusal.nothing : .noList(node.kind)).under(key))
      return nil
    }
  }

  private mutating func required(_ key: some DeclaredKey) -> DocumentNode? {
    let found = node(key.name)
    if found == nil, isMapping, let remedy = key.remedy {
      report(Refusal("has no \(key.name)", remedy), at: node.place)
      missing[key.name] = problems.last
    }
    return found
  }

  // MARK: The end

  /// Ends reading. A key that is not declared is a problem. Returns true if every key is declared.
  @discardableResult
  package mutating func finish(_ keys: [any DeclaredKey]) -> Bool {
    refuse(known: keys.map(\.name)) { _ in true }
  }

  /// Refuses misspelled names of missing keys, in a mapping whose other keys are unknown.
  package mutating func refuseSlips(_ keys: [any DeclaredKey]) {
    let missing = missing.keys
    refuse(known: keys.map(\.name)) { missing.contains($0 ?? "") }
  }

  /// Refuses the undeclared members for which `isRefused` is true. Its argument is the declared name that the
  /// member probably meant. Returns true if every member is declared.
  @discardableResult
  private mutating func refuse(known: [String], where isRefused: (String?) -> Bool) -> Bool {
    precondition(asked.isSubset(of: known), "a key is read that is not declared: \(asked.subtracting(known))")
    let unknown = node.members.filter { !known.contains($0.name) }
    for member in unknown {
      let meant = Spelling.nearest(to: member.name, among: known)
      guard isRefused(meant) else { continue }
      // A missing key and its misspelled name are the same mistake.
      if let meant, let same = missing.removeValue(forKey: meant) { problems.removeAll { $0 == same } }
      report(
        Refusal.unknownKey(member.name, known: known).under(member.name),
        at: member.place == .standard ? member.value.place : member.place)
    }
    return unknown.isEmpty
  }
}
