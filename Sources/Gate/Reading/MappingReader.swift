// Reads the members of a mapping by name and type, and reports unknown ones.

/// A mapping being read. Every mistake becomes a problem; reading goes on, so that all are found at once.
struct MappingReader {
  /// What the mapping is called: where it stands, as `rules[2]`, or a rule with its name, as `rule "opening-hours"`.
  let path: String
  /// The mapping.
  let node: RuleNode
  private var unread: [String: RuleNode.Member] = [:]
  /// What is wrong so far.
  private(set) var problems: [RuleProblem] = []
  /// The problems of members that have to be there and are not, by name.
  private var missing: [String: RuleProblem] = [:]

  /// Begins to read; anything but a mapping is a problem.
  init(_ node: RuleNode, path: String, remedy: String) {
    self.node = node
    self.path = path
    guard case .mapping(let members) = node.content else {
      report(RuleError(key: "", problem: "expected a mapping, found \(node.kind)", remedy: remedy))
      return
    }
    for member in members where unread.updateValue(member, forKey: member.name) != nil {
      report(
        RuleError(
          key: member.name, problem: "\(quoted(member.name)) stands there twice", remedy: "remove one of them"
        ))
    }
  }

  /// Writes down a mistake at the place of its key.
  mutating func report(_ error: RuleError, at place: RulePlace? = nil) {
    let joint =
      error.key.isEmpty || error.key.hasPrefix("[") || path.isEmpty ? "" : path.hasSuffix("\"") ? ": " : "."
    problems.append(
      RuleProblem(
        place: place ?? node.place(of: error.key), key: path + joint + error.key, problem: error.problem,
        remedy: error.remedy))
  }

  /// Takes over the problems found below.
  mutating func report(_ more: [RuleProblem]) { problems += more }

  /// Runs a step that may find a mistake; nil if it did.
  mutating func attempt<Value>(_ step: () throws(RuleError) -> Value) -> Value? {
    do {
      return try step()
    } catch {
      report(error)
      return nil
    }
  }

  // MARK: Members

  /// What stands under a name.
  mutating func take(_ name: String) -> RuleNode? { unread.removeValue(forKey: name)?.value }

  /// The text under a name; nil without one.
  mutating func text(_ name: String) -> String? {
    guard let node = take(name) else { return nil }
    guard case .text(let text) = node.content, !text.isEmpty else {
      report(
        RuleError(key: name, problem: "expected a text, found \(node.kind)", remedy: "write a single value"))
      return nil
    }
    return text
  }

  /// The text under a name that has to be there.
  mutating func requiredText(_ name: String, remedy: String) -> String? {
    guard unread[name] != nil else {
      if case .mapping = node.content {
        report(RuleError(key: name, problem: "\"\(name)\" is missing", remedy: remedy), at: node.place)
        missing[name] = problems.last
      }
      return nil
    }
    return text(name)
  }

  /// The texts under a name, a single one being a list of one, each there once; nil without any.
  mutating func texts(_ name: String) -> [String]? {
    guard let node = take(name), let texts = texts(node, key: name) else { return nil }
    var seen: Set<String> = []
    for (place, text) in texts.enumerated() where !seen.insert(text).inserted {
      report(
        RuleError(
          key: "\(name)[\(place)]", problem: "\(quoted(text)) stands there twice", remedy: "keep one of them")
      )
    }
    return texts
  }

  /// The texts of a piece of configuration.
  mutating func texts(_ node: RuleNode, key: String) -> [String]? {
    switch node.content {
    case .text(let text) where !text.isEmpty: return [text]
    case .list(let items):
      var texts: [String] = []
      for (place, item) in items.enumerated() {
        guard case .text(let text) = item.content, !text.isEmpty else {
          report(
            RuleError(
              key: "\(key)[\(place)]", problem: "expected a text, found \(item.kind)",
              remedy: "write a list of single values"))
          return nil
        }
        texts.append(text)
      }
      return texts
    default:
      report(
        RuleError(
          key: key, problem: "expected a list of texts, found \(node.kind)",
          remedy: "write it as [first, second]"))
      return nil
    }
  }

  /// The mapping under a name, its members in order; nil without one.
  mutating func mapping(_ name: String, remedy: String) -> [RuleNode.Member]? {
    guard let node = take(name) else { return nil }
    guard case .mapping(let members) = node.content else {
      report(RuleError(key: name, problem: "expected a mapping, found \(node.kind)", remedy: remedy))
      return nil
    }
    return members
  }

  /// The whole number under a name; nil without one.
  mutating func number(_ name: String) -> Int64? {
    guard let text = text(name) else { return nil }
    guard let number = wholeNumber(text) else {
      report(
        RuleError(
          key: name, problem: "\(quoted(text)) is not a whole number", remedy: "write digits, as in 30"))
      return nil
    }
    return number
  }

  /// The span of time under a name in nanoseconds; nil without one.
  mutating func duration(_ name: String) -> Int64? {
    guard let text = text(name) else { return nil }
    guard let span = nanoseconds(ofDuration: text) else {
      report(
        RuleError(
          key: name, problem: "\(quoted(text)) is not a span of time",
          remedy: "write a number and a unit, as in 500ms, 10s, 1m, 1h or 30d"))
      return nil
    }
    return span
  }

  /// The word of a set under a name; nil without one.
  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) -> Choice? {
    guard let text = text(name) else { return nil }
    return choice(text, key: name)
  }

  /// A word of a set; nil, and a problem, for any other.
  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ text: String, key: String)
    -> Choice?
  {
    if let choice = Choice(rawValue: text) { return choice }
    report(unknown(text, key: key, known: Choice.allCases.map(\.rawValue)))
    return nil
  }

  /// What is wrong with a word that is none of a set.
  func unknown(_ word: String, key: String, known: [String]) -> RuleError {
    RuleError(
      key: key, problem: "\(quoted(word)) is unknown here",
      remedy: Self.remedy(for: word, "use one of", known))
  }

  /// What to write in place of an unknown word: the one that was meant, and those there are.
  private static func remedy(for word: String, _ choose: String, _ known: [String]) -> String {
    let list = known.count > 20 ? "the \(known.count) there are" : known.joined(separator: ", ")
    guard let near = nearest(to: word, in: known) else { return "\(choose) \(list)" }
    return "did you mean \"\(near)\"? Otherwise \(choose) \(list)"
  }

  /// Refuses misspelt names of members that are missing, where it is not known what else may be there.
  mutating func refuseSlips(known: [String]) {
    let slips = unread.values.filter { nearest(to: $0.name, in: known).map { missing[$0] != nil } ?? false }
    refuse(slips, known: known)
  }

  /// Ends reading: what nobody asked for is a problem.
  mutating func refuseRest(known: [String]) { refuse(Array(unread.values), known: known) }

  private mutating func refuse(_ members: [RuleNode.Member], known: [String]) {
    for member in members.sorted(by: { ($0.place, $0.name) < ($1.place, $1.name) }) {
      // What is missing beside a misspelt key is the same mistake.
      if let meant = nearest(to: member.name, in: known), let same = missing.removeValue(forKey: meant) {
        problems.removeAll { $0 == same }
      }
      report(
        RuleError(
          key: member.name, problem: "the key \(quoted(member.name)) is unknown here",
          remedy: Self.remedy(for: member.name, "use one of", known)),
        at: member.place.line == 0 ? member.value.place : member.place)
    }
    for member in members { unread[member.name] = nil }
  }
}

/// Reads a whole number from digits alone, at most 15; zeros in front, which elsewhere mean octal, are refused.
func wholeNumber(_ text: some StringProtocol) -> Int64? {
  guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
    text.utf8.count == 1 || text.utf8.first != UInt8(ascii: "0")
  else { return nil }
  return text.utf8.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
}

/// Reads `500ms`, `10s`, `1m`, `1h` or `30d` as nanoseconds; nil for anything else, and beyond 292 years.
func nanoseconds(ofDuration text: String) -> Int64? {
  let units: [(name: String, nanoseconds: Int64)] = [
    ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
  ]
  let digits = text.prefix { $0.isASCII && $0.isNumber }
  guard let unit = units.first(where: { $0.name == text[digits.endIndex...] }),
    let count = wholeNumber(digits)
  else { return nil }
  let (span, overflow) = count.multipliedReportingOverflow(by: unit.nanoseconds)
  return overflow ? nil : span
}
