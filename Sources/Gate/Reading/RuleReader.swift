// Reads the rules of a configuration into a policy, or reports every mistake in them.

public import Documents
import Platform

/// The callers, apps and settings of `numbers` that a configuration defines for its rules. For callers and
/// apps, nil accepts any name.
public struct KnownNames: Sendable {
  /// The callers' ids.
  // Our text: ids of the configuration, looked up with `contains(exactly:)`.
  public var callers: Set<String>?
  /// The apps' ids.
  // Our text: ids of the configuration, looked up with `contains(exactly:)`.
  public var apps: Set<String>?
  /// The settings of `numbers`.
  public var numbers = NumberTerms()
  /// Returns why no request can have one of these actions, apps and callers together; nil if some request
  /// can. For apps and callers, nil stands for all. A rule for impossible requests would never apply.
  public var objection:
    @Sendable (_ actions: Set<Action>, _ apps: [String]?, _ callers: [String]?) -> Refusal?

  public init(
    callers: Set<String>? = nil, apps: Set<String>? = nil,
    objection: @escaping @Sendable (Set<Action>, [String]?, [String]?) -> Refusal? = { _, _, _ in nil }
  ) {
    self.callers = callers
    self.apps = apps
    self.objection = objection
  }
}

extension Policy {
  /// Reads the list under `rules`.
  ///
  /// - Parameter brakes: The limits of the brakes that the policy has besides the rules.
  /// - Returns: A policy, or the problems in the order of their positions.
  public static func reading(
    _ node: DocumentNode, known: KnownNames = KnownNames(), brakes: Brakes = .off
  ) -> PolicyReading {
    guard case .list(let items) = node.content else {
      return .problems([
        DocumentProblem(
          node.place, "rules",
          Refusal("is \(node.kind), not a list", "begin each rule with \"- { name: …, kind: … }\""))
      ])
    }
    var reader = RuleReader(known: known)
    var rules: [Rule] = []
    var names: [String: Int] = [:]
    for (index, item) in items.enumerated() {
      guard let rule = reader.read(item, path: title(of: item, at: index)) else { continue }
      if let first = names[rule.name] {
        reader.problems.append(
          DocumentProblem(
            item.place(of: "name"), "rules[\(index)].name",
            Refusal(
              "\(quoted(rule.name)) is already the name of rules[\(first)]",
              "give each rule a name of its own")))
        continue
      }
      names[rule.name] = index
      rules.append(rule)
    }
    if reader.problems.isEmpty {
      do {
        return .policy(try Policy(rules: rules, brakes: brakes))
      } catch {
        reader.problems.append(DocumentProblem(node.place, "rules\(error.key)", error))
      }
    }
    return .problems(reader.problems.sorted { $0.place < $1.place })
  }

  /// A rule's title in problems: its name, or its index without a name.
  private static func title(of node: DocumentNode, at index: Int) -> String {
    guard let text = node["name"]?.text else { return "rules[\(index)]" }
    return "rule \(quoted(text))"
  }
}

/// The result of reading the rules.
public enum PolicyReading: Sendable {
  case policy(Policy)
  /// The problems; at least one.
  case problems([DocumentProblem])
}

/// The settings of `numbers` that rules need.
public struct NumberTerms: Sendable {
  public var claim: NumberClaim?
  public var takesProofs: Bool
  public var consentTexts: [ConsentText]

  public init(claim: NumberClaim? = nil, takesProofs: Bool = false, consentTexts: [ConsentText] = []) {
    self.claim = claim
    self.takesProofs = takesProofs
    self.consentTexts = consentTexts
  }
}

/// Reads rules one by one and collects their mistakes.
struct RuleReader {
  let known: KnownNames
  var problems: [DocumentProblem] = []
  /// The zones read so far, by name. Reading a zone takes milliseconds.
  private var zones: [String: Zone] = [:]

  init(known: KnownNames) { self.known = known }

  /// Reads a rule; nil if it has mistakes.
  mutating func read(_ node: DocumentNode, path: String) -> Rule? {
    var mapping = MappingReader(node, path: path, remedy: "write a rule as { name: …, kind: … }")
    let name = mapping.value(RuleKeys.name)
    let word = mapping.value(RuleKeys.kind)
    let before = mapping.problems.count
    let listed = mapping.values(RuleKeys.on)
    let concernsAny = mapping.problems.count == before
    let apps = mapping.values(RuleKeys.apps(known.apps))
    let callers = mapping.values(RuleKeys.callers(known.callers))
    let mode = mapping.value(RuleKeys.mode)
    let kind = word.flatMap { self.kind($0, from: &mapping) }
    if let kind, let listed, !listed.isEmpty { Self.refuseIdle(kind, Set(listed), &mapping) }
    if let word {
      mapping.finish(RuleKeys.common + RuleKeys.keys(of: word))
    } else {
      mapping.refuseSlips(RuleKeys.common)
    }
    var rule: Rule?
    if let name {
      // Check the name even if the rest is unusable, to report every problem at once.
      let actions = concernsAny ? listed.map(Set.init) : nil
      let kind = kind ?? .numbers(Self.placeholder)
      rule = mapping.attempt { () throws(Refusal) in
        try Rule(
          name: name, actions: actions ?? Action.usual, apps: apps, callers: callers,
          mode: mode ?? .enforce, kind: kind)
      }
    }
    if let rule, mapping.problems.isEmpty {
      let asked = rule.actions.filter { $0.bit & rule.kind.actions != 0 }
      if let objection = known.objection(asked, rule.apps, rule.callers) { mapping.report(objection) }
    }
    problems += mapping.problems
    return mapping.problems.isEmpty && kind != nil ? rule : nil
  }

  /// Refuses a rule that would never apply: a rule about phone numbers for actions that have none.
  private static func refuseIdle(_ kind: Rule.Kind, _ actions: Set<Action>, _ mapping: inout MappingReader) {
    let possible = kind.actions
    guard !actions.contains(where: { $0.bit & possible != 0 }) else { return }
    mapping.report(
      Refusal(
        at: "on", "only callbacks have a phone number, so the rule would never apply",
        "write \"on: callback\", or leave \"on\" out"))
  }

  /// A kind for a rule whose own kind could not be read, so that the rest of the rule is still checked. It is
  /// never evaluated.
  private static let placeholder = NumbersRule.defaults

  // MARK: Kinds

  /// Reads a rule's kind; nil if it has mistakes.
  private mutating func kind(_ word: Rule.Kind.Word, from mapping: inout MappingReader) -> Rule.Kind? {
    do throws(Refusal) {
      switch word {
      case .hours: return try hours(&mapping)
      case .rate: return try rate(&mapping)
      case .quota: return try quota(&mapping)
      case .numbers: return try numbers(&mapping)
      case .addresses: return try addresses(&mapping)
      case .claims: return try claims(&mapping)
      case .field: return try field(&mapping)
      case .remote: return try remote(&mapping)
      case .agents: return try agents(&mapping)
      case .ownNumber:
        return .ownNumber(OwnNumberRule(claim: known.numbers.claim, takesProofs: known.numbers.takesProofs))
      case .consent: return try consent(&mapping)
      case .screened: return try screened(&mapping)
      }
    } catch {
      mapping.report(error)
      return nil
    }
  }

  private mutating func zone(_ name: String, _ mapping: inout MappingReader) -> Zone? {
    if let zone = zones[name] { return zone }
    let zone = mapping.attempt { () throws(Refusal) in try Zone(named: name) }
    zones[name] = zone
    return zone
  }

  private mutating func hours(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let zone = mapping.value(RuleKeys.timezone).flatMap { self.zone($0, &mapping) }
    let (weekly, written) = WeeklyReader.read(from: &mapping)
    let closed = mapping.values(RuleKeys.closed) ?? []
    var open: [(date: CivilDate, windows: [OpeningWindow])] = []
    for member in mapping.members(RuleKeys.open, "write { \"2026-12-24\": \"09:00-12:00\" }") ?? [] {
      let key = "open.\(member.name)"
      let date = mapping.attempt { () throws(Refusal) in
        do throws(Refusal) { return try RuleKeys.date.read(member.name) } catch { throw error.under(key) }
      }
      let windows = mapping.values(member.value, at: key, RuleKeys.window)
      if let date, let windows { open.append((date, windows.map(\.value))) }
    }
    guard mapping.problems.count == before, let zone else { return nil }
    do throws(Refusal) {
      return .hours(try Schedule(zone: zone, weekly: weekly, closed: closed, open: open))
    } catch {
      // A problem about a day points to the key with that day: "fri" may be a part of "mon-fri".
      throw written[error.key].map(error.under) ?? error
    }
  }

  private func rate(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let (scope, limit) = (mapping.value(RuleKeys.key), mapping.value(RuleKeys.limit))
    let (per, burst) = (mapping.value(RuleKeys.span), mapping.value(RuleKeys.burst))
    let onFailure = mapping.value(RuleKeys.onStoreFailure) ?? .deny
    guard mapping.problems.count == before, let scope, let limit, let per else { return nil }
    let rate = try RateLimit(limit: limit, per: per.nanosecondsClamped, burst: burst)
    return .rate(rate, key: scope, onStoreFailure: onFailure)
  }

  private mutating func quota(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let (scope, limit) = (mapping.value(RuleKeys.key), mapping.value(RuleKeys.limit))
    let period = mapping.value(RuleKeys.period)
    let zone = mapping.value(RuleKeys.quotaZone).map { self.zone($0, &mapping) } ?? .utc
    let onFailure = mapping.value(RuleKeys.onStoreFailure) ?? .deny
    guard mapping.problems.count == before, let scope, let limit, let period, let zone else { return nil }
    return .quota(try Quota(limit: limit, period: period, zone: zone), key: scope, onStoreFailure: onFailure)
  }

  private func numbers(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let allow = mapping.values(RuleKeys.allowedPrefixes)
    let deny = mapping.values(RuleKeys.deniedPrefixes) ?? []
    let refusesDefaultRanges = mapping.value(RuleKeys.defaultDeny) ?? true
    guard mapping.problems.count == before else { return nil }
    guard allow?.isEmpty != true else {
      throw Refusal(
        at: "allow", "the list is empty, so the rule would refuse every number",
        "list prefixes such as \"+351\", or leave \"allow\" out")
    }
    return .numbers(
      try NumbersRule(allow: allow ?? [], deny: deny, refusesDefaultRanges: refusesDefaultRanges))
  }

  private func addresses(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let allow = mapping.values(RuleKeys.allowedNetworks)
    let deny = mapping.values(RuleKeys.deniedNetworks) ?? []
    guard mapping.problems.count == before else { return nil }
    // An empty list would seem to deny every address, but in `AddressesRule` it allows all except the denied
    // ones. So the reader refuses it.
    guard allow?.isEmpty != true || deny.isEmpty else {
      throw Refusal(
        at: "allow", "the list is empty",
        "list networks, or leave \"allow\" out to allow all but the denied ones")
    }
    return .addresses(try AddressesRule(allow: allow ?? [], deny: deny))
  }

  private func claims(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    var requirements: [(claim: String, accepted: [String])] = []
    for member in mapping.members(RuleKeys.require, "write { tier: [gold, platinum] }") ?? [] {
      let accepted = mapping.values(member.value, at: "require.\(member.name)", TextForm.text)
      if let accepted { requirements.append((member.name, accepted.map(\.value))) }
    }
    guard mapping.problems.count == before else { return nil }
    return .claims(try ClaimsRule(require: requirements))
  }

  private func field(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let name = mapping.value(RuleKeys.field)
    let requirements = [
      mapping.value(RuleKeys.equals).map(FieldRule.Requirement.equals),
      mapping.values(RuleKeys.among).map(FieldRule.Requirement.oneOf),
      mapping.value(RuleKeys.atLeast).map(FieldRule.Requirement.atLeast),
    ].compactMap { $0 }
    guard mapping.problems.count == before, let name else { return nil }
    guard requirements.count == 1 else {
      throw Refusal(
        at: "field",
        requirements.isEmpty
          ? "the rule has no requirement" : "the rule has more than one requirement",
        "give exactly one of \(RuleKeys.requirements.joined(separator: ", ")); for two of them write two rules"
      )
    }
    return .field(try FieldRule(field: name, requirement: requirements[0]))
  }

  private func agents(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let atLeast = mapping.value(RuleKeys.leastAgents) ?? 1
    let onStale = mapping.value(RuleKeys.onStale) ?? .allow
    guard mapping.problems.count == before else { return nil }
    return .agents(try AgentsRule(atLeast: atLeast, onStale: onStale))
  }

  private func consent(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let configured = known.numbers.consentTexts.map(\.name)
    // Without texts in `numbers.consent`, the configuration's reader refuses the rule.
    let texts = mapping.values(RuleKeys.consentTexts(configured.isEmpty ? nil : configured))
    guard mapping.problems.count == before else { return nil }
    return .consent(try ConsentRule(texts: texts ?? (configured.isEmpty ? ["none"] : configured)))
  }

  private func screened(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let timeout = mapping.value(RuleKeys.screeningTimeout) ?? .seconds(3)
    let onFailure = mapping.value(RuleKeys.onScreeningFailure) ?? .allow
    guard mapping.problems.count == before else { return nil }
    return .screened(
      try ScreenedRule(timeoutMilliseconds: timeout.milliseconds, onFailure: onFailure))
  }

  private func remote(_ mapping: inout MappingReader) throws(Refusal) -> Rule.Kind? {
    let before = mapping.problems.count
    let url = mapping.value(RuleKeys.url)
    let timeout = mapping.value(RuleKeys.timeout) ?? .milliseconds(500)
    let onFailure = mapping.value(RuleKeys.onFailure) ?? .deny
    let dialect = mapping.value(RuleKeys.dialect) ?? .opa
    guard mapping.problems.count == before, let url else { return nil }
    return .remote(
      try RemoteRule(
        url: url, timeoutMilliseconds: timeout.milliseconds, onFailure: onFailure, dialect: dialect))
  }
}
