// Reads the rules of a configuration into a policy, or reports every mistake in them.

/// The names a configuration defines besides rules; nil where any name will do.
public struct KnownNames: Sendable {
  /// The callers' ids.
  public var callers: Set<String>?
  /// The apps' ids.
  public var apps: Set<String>?

  /// Names to compare with.
  public init(callers: Set<String>? = nil, apps: Set<String>? = nil) {
    self.callers = callers
    self.apps = apps
  }
}

extension Policy {
  /// Reads the list that stands under `rules`.
  ///
  /// - Parameter brakes: what the built-in limits on callbacks let pass beside them.
  /// - Returns: a policy, or the problems, in the order of their places.
  public static func reading(
    _ node: RuleNode, known: KnownNames = KnownNames(), brakes: Brakes = .off
  ) -> PolicyReading {
    guard case .list(let items) = node.content else {
      return .problems([
        RuleProblem(
          place: node.place, key: "rules", problem: "expected a list of rules, found \(node.kind)",
          remedy: "begin each rule with \"- { name: …, kind: … }\"")
      ])
    }
    var reader = RuleReader(known: known)
    var rules: [Rule] = []
    var names: [String: Int] = [:]
    for (index, item) in items.enumerated() {
      guard let rule = reader.read(item, path: title(of: item, at: index)) else { continue }
      if let first = names[rule.name] {
        reader.problems.append(
          RuleProblem(
            place: item.place(of: "name"), key: "rules[\(index)].name",
            problem: "\(quoted(rule.name)) is the name of rules[\(first)] already",
            remedy: "give each rule a name of its own"))
        continue
      }
      names[rule.name] = index
      rules.append(rule)
    }
    if reader.problems.isEmpty {
      do {
        return .policy(try Policy(rules: rules, brakes: brakes))
      } catch {
        reader.problems.append(
          RuleProblem(
            place: node.place, key: "rules\(error.key)", problem: error.problem, remedy: error.remedy))
      }
    }
    return .problems(reader.problems.sorted { $0.place < $1.place })
  }

  /// What problems call a rule: by its name, or by its index where it has none.
  private static func title(of node: RuleNode, at index: Int) -> String {
    guard let name = node.members.first(where: { $0.name == "name" })?.value.content,
      case .text(let text) = name,
      !text.isEmpty
    else { return "rules[\(index)]" }
    return "rule \(quoted(text))"
  }
}

/// What came of reading the rules.
public enum PolicyReading: Sendable {
  case policy(Policy)
  /// Never empty.
  case problems([RuleProblem])
}

/// Reads rules one by one and collects what is wrong with them.
struct RuleReader {
  let known: KnownNames
  var problems: [RuleProblem] = []
  /// Zones by name: making one takes milliseconds.
  private var zones: [String: Zone] = [:]

  init(known: KnownNames) { self.known = known }

  private static let commonKeys = ["name", "kind", "on", "apps", "callers", "mode"]

  /// Reads a rule; nil where something is wrong with it.
  mutating func read(_ node: RuleNode, path: String) -> Rule? {
    var mapping = MappingReader(node, path: path, remedy: "write a rule as { name: …, kind: … }")
    let name = mapping.requiredText("name", remedy: "give the rule a name, as in \"name: opening-hours\"")
    let kindName = mapping.requiredText(
      "kind", remedy: "use one of \(Rule.Kind.names.joined(separator: ", "))")
    var actions: Set<Action> = []
    let actionWords = mapping.texts("on")
    for (place, word) in (actionWords ?? []).enumerated() {
      if let action: Action = mapping.choice(word, key: "on[\(place)]") { actions.insert(action) }
    }
    let apps = names("apps", of: known.apps, from: &mapping)
    let callers = names("callers", of: known.callers.map { $0.union([Facts.anonymous]) }, from: &mapping)
    let mode: Rule.Mode? = mapping.choice("mode")
    let (kind, keys) = kind(kindName, from: &mapping)
    if let kind, !actions.isEmpty { Self.refuseIdle(kind, actions, &mapping) }
    if let keys {
      mapping.refuseRest(known: Self.commonKeys + keys)
    } else {
      mapping.refuseSlips(known: Self.commonKeys)
    }
    var rule: Rule?
    if let name {
      // The name is looked at even where the rest is unusable: every problem at once.
      let concerned = actionWords == nil || (actionWords?.isEmpty == false && actions.isEmpty)
      let kind = kind ?? .numbers(Self.placeholder)
      rule = mapping.attempt { () throws(RuleError) in
        try Rule(
          name: name, actions: concerned ? Action.usual : actions, apps: apps, callers: callers,
          mode: mode ?? .enforce, kind: kind)
      }
    }
    problems += mapping.problems
    return mapping.problems.isEmpty ? rule : nil
  }

  /// Refuses a rule that would never be asked: one about numbers where there are none.
  private static func refuseIdle(_ kind: Rule.Kind, _ actions: Set<Action>, _ mapping: inout MappingReader) {
    let possible = kind.actions
    guard !actions.contains(where: { $0.bit & possible != 0 }) else { return }
    mapping.report(
      RuleError(
        key: "on", problem: "only callbacks have a number, so the rule would never be asked",
        remedy: "write \"on: callback\", or leave \"on\" out"))
  }

  /// A kind for a rule whose own could not be read, so that the rest of it is still checked; never used.
  private static let placeholder = NumbersRule.defaults

  /// A list of apps or callers, each of which has to exist.
  private func names(_ key: String, of known: Set<String>?, from mapping: inout MappingReader) -> [String]? {
    guard let names = mapping.texts(key) else { return nil }
    for (place, name) in names.enumerated() {
      guard let known, !known.contains(name) else { continue }
      mapping.report(mapping.unknown(name, key: "\(key)[\(place)]", known: known.sorted()))
    }
    return names
  }

  // MARK: Kinds

  /// A rule's kind, nil where something is wrong with it, and the keys it knows; nil for an unknown kind.
  private mutating func kind(_ name: String?, from mapping: inout MappingReader) -> (Rule.Kind?, [String]?) {
    switch name {
    case nil: return (nil, nil)
    case "hours": return (hours(&mapping), ["timezone", "weekly", "closed", "open"])
    case "rate": return (rate(&mapping), ["key", "limit", "per", "burst", "on_store_failure"])
    case "quota": return (quota(&mapping), ["key", "limit", "per", "timezone", "on_store_failure"])
    case "numbers": return (numbers(&mapping), ["allow", "deny", "default_deny"])
    case "addresses": return (addresses(&mapping), ["allow", "deny"])
    case "claims": return (claims(&mapping), ["require"])
    case "field": return (field(&mapping), ["field", "equals", "in", "at_least"])
    case "remote": return (remote(&mapping), ["url", "timeout", "on_failure"])
    case let other?:
      mapping.report(mapping.unknown(other, key: "kind", known: Rule.Kind.names))
      return (nil, nil)
    }
  }

  private mutating func zone(_ name: String, _ mapping: inout MappingReader) -> Zone? {
    if let zone = zones[name] { return zone }
    let zone = mapping.attempt { () throws(RuleError) in try Zone(named: name) }
    zones[name] = zone
    return zone
  }

  private mutating func hours(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    let zoneName = mapping.requiredText("timezone", remedy: "say whose clock counts, as in Europe/Lisbon")
    let zone: Zone? = if let zoneName { self.zone(zoneName, &mapping) } else { nil }
    let (weekly, written) = WeeklyReader.read(from: &mapping)
    var closed: [CivilDate] = []
    for (place, text) in (mapping.texts("closed") ?? []).enumerated() {
      if let date = WeeklyReader.date(text, key: "closed[\(place)]", &mapping) { closed.append(date) }
    }
    var open: [(date: CivilDate, windows: [OpeningWindow])] = []
    for member in mapping.mapping("open", remedy: "write { \"2026-12-24\": \"09:00-12:00\" }") ?? [] {
      let date = WeeklyReader.date(member.name, key: "open.\(member.name)", &mapping)
      let windows = WeeklyReader.windows(member.value, key: "open.\(member.name)", &mapping)
      if let date, let windows { open.append((date, windows)) }
    }
    guard mapping.problems.count == before, let zone else { return nil }
    return mapping.attempt { () throws(RuleError) in
      do throws(RuleError) {
        return .hours(try Schedule(zone: zone, weekly: weekly, closed: closed, open: open))
      } catch {
        // A day stands where it was written: "fri" may be a part of "mon-fri".
        throw written[error.key].map(error.under) ?? error
      }
    }
  }

  private func allowance(_ mapping: inout MappingReader) -> (AllowanceScope?, Int64?, FailurePolicy) {
    let words = AllowanceScope.allCases.map(\.rawValue).joined(separator: ", ")
    let key = mapping.requiredText("key", remedy: "say what is counted by: \(words)")
    let scope: AllowanceScope? = key.flatMap { mapping.choice($0, key: "key") }
    let limitText = mapping.requiredText(
      "limit", remedy: "say how many requests are allowed, as in \"limit: 30\"")
    let limit = limitText.flatMap(wholeNumber)
    if let limitText, limit == nil {
      mapping.report(
        RuleError(
          key: "limit", problem: "\(quoted(limitText)) is not a whole number",
          remedy: "write digits, as in 30"))
    }
    return (scope, limit, mapping.choice("on_store_failure") ?? .deny)
  }

  private func rate(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    let (scope, limit, onFailure) = allowance(&mapping)
    var per: Int64?
    if let text = mapping.requiredText("per", remedy: "say in which time, as in \"per: 1m\"") {
      per = nanoseconds(ofDuration: text)
      if per == nil {
        let isCalendar = Quota.Period(rawValue: text) != nil
        mapping.report(
          RuleError(
            key: "per", problem: "\(quoted(text)) is not a span of time",
            remedy: isCalendar
              ? "for calendar periods use \"kind: quota\"; for a rate write it as 24h"
              : "write a number and a unit, as in 500ms, 10s, 1m, 1h or 30d"))
      }
    }
    let burst = mapping.number("burst")
    guard mapping.problems.count == before, let scope, let limit, let per else { return nil }
    return mapping.attempt { () throws(RuleError) in
      .rate(try RateLimit(limit: limit, per: per, burst: burst), key: scope, onStoreFailure: onFailure)
    }
  }

  private mutating func quota(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    let (scope, limit, onFailure) = allowance(&mapping)
    let word = mapping.requiredText("per", remedy: "use one of day, week, month")
    let period: Quota.Period? = word.flatMap { mapping.choice($0, key: "per") }
    let zoneName = mapping.text("timezone")
    let zone: Zone? = if let zoneName { self.zone(zoneName, &mapping) } else { .utc }
    guard mapping.problems.count == before, let scope, let limit, let period, let zone else { return nil }
    return mapping.attempt { () throws(RuleError) in
      .quota(try Quota(limit: limit, period: period, zone: zone), key: scope, onStoreFailure: onFailure)
    }
  }

  private func numbers(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    let allow = mapping.texts("allow")
    let deny = mapping.texts("deny") ?? []
    let flag = mapping.text("default_deny")
    if let flag, flag != "true", flag != "false" {
      mapping.report(
        RuleError(
          key: "default_deny", problem: "\(quoted(flag)) is neither true nor false",
          remedy: "write true or false"))
    }
    if allow?.isEmpty == true {
      mapping.report(
        RuleError(
          key: "allow", problem: "the list is empty, so no number could be called",
          remedy: "list prefixes such as \"+351\", or leave \"allow\" out"))
    }
    guard mapping.problems.count == before else { return nil }
    return mapping.attempt { () throws(RuleError) in
      .numbers(try NumbersRule(allow: allow ?? [], deny: deny, refusesDefaultRanges: flag != "false"))
    }
  }

  private func addresses(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    let allow = mapping.texts("allow")
    let deny = mapping.texts("deny") ?? []
    // Written down, an empty list looks as if it let nobody in; it would let everybody in.
    if allow?.isEmpty == true, !deny.isEmpty {
      mapping.report(
        RuleError(
          key: "allow", problem: "the list is empty",
          remedy: "list networks, or leave \"allow\" out to let in all but the denied ones"))
    }
    guard mapping.problems.count == before else { return nil }
    return mapping.attempt { () throws(RuleError) in
      .addresses(try AddressesRule(allow: allow ?? [], deny: deny))
    }
  }

  private func claims(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    var requirements: [(claim: String, accepted: [String])] = []
    for member in mapping.mapping("require", remedy: "write { tier: [gold, platinum] }") ?? [] {
      guard let accepted = mapping.texts(member.value, key: "require.\(member.name)") else { continue }
      guard !requirements.contains(where: { $0.claim == member.name }) else {
        mapping.report(
          RuleError(
            key: "require.\(member.name)", problem: "\(quoted(member.name)) stands there twice",
            remedy: "put all accepted values into one list"))
        continue
      }
      requirements.append((member.name, accepted))
    }
    guard mapping.problems.count == before else { return nil }
    return mapping.attempt { () throws(RuleError) in .claims(try ClaimsRule(require: requirements)) }
  }

  private func field(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    let name = mapping.requiredText("field", remedy: "name the field, as in \"field: X-App-Version\"")
    let requirements = [
      mapping.text("equals").map(FieldRule.Requirement.equals),
      mapping.texts("in").map(FieldRule.Requirement.oneOf),
      mapping.text("at_least").map(FieldRule.Requirement.atLeast),
    ].compactMap { $0 }
    guard mapping.problems.count == before, let name else { return nil }
    guard requirements.count == 1 else {
      mapping.report(
        RuleError(
          key: "field",
          problem: requirements.isEmpty
            ? "nothing is required of the field" : "two things are required of the field",
          remedy: "give exactly one of equals, in, at_least; for two of them write two rules"))
      return nil
    }
    return mapping.attempt { () throws(RuleError) in
      .field(try FieldRule(field: name, requirement: requirements[0]))
    }
  }

  private func remote(_ mapping: inout MappingReader) -> Rule.Kind? {
    let before = mapping.problems.count
    let url = mapping.requiredText("url", remedy: "give the address of the policy")
    let timeout = mapping.duration("timeout")
    let onFailure: FailurePolicy? = mapping.choice("on_failure")
    guard mapping.problems.count == before, let url else { return nil }
    return mapping.attempt { () throws(RuleError) in
      .remote(
        try RemoteRule(
          url: url, timeoutMilliseconds: timeout.map { $0 / 1_000_000 } ?? 500, onFailure: onFailure ?? .deny)
      )
    }
  }
}
