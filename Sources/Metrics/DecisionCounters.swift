// Counts the decisions on requests by action, code and rule.

import Synchronization

/// Counts decisions by action, code and rule. Only built-in rules and rules of a configuration get their own
/// series, so operators determine the number of series, not callers.
public final class DecisionCounters: Sendable {
  /// A code and the decision that it belongs to.
  public struct Code: Sendable {
    let word: String
    let decision: String

    /// - Parameters:
    ///   - word: The code; empty without one.
    ///   - decision: The decision: `allow`, `deny` or `error`.
    public init(_ word: String, decision: String) {
      self.word = word
      self.decision = decision
    }
  }

  /// The maximum number of rules with their own series, over the life of the process. Further rules share
  /// `_other`, a name that no rule can have.
  public static let mostRules = 62
  private static let mostCodes = 56
  private static let mostActions = 20
  /// The slot of decisions without a rule.
  private static let noRule = 0
  /// The slot of rules without their own slot.
  private static let otherRule = 1

  private final class Lane: Sendable {
    let decisions = Cells<71680>()
    let objections = Cells<1280>()
  }

  private let actions: [String]
  private let codes: [Code]
  private let lanes: [Lane]
  private let rules: Mutex<[String: Int]>

  /// Makes counters that all start at 0.
  ///
  /// - Parameters:
  ///   - actions: The words for actions, by their numbers.
  ///   - codes: The codes, by their numbers.
  ///   - lanes: Number of event loops that count.
  public init(actions: [String], codes: [Code], lanes: Int) {
    precondition(actions.count <= Self.mostActions && codes.count <= Self.mostCodes)
    self.actions = actions
    self.codes = codes
    self.lanes = (0..<lanes).map { _ in Lane() }
    rules = Mutex([:])
  }

  /// Gives each rule name a slot, until `mostRules` names have one. A name keeps its slot for the life of the
  /// process, because counts may only grow.
  public func register(_ names: some Sequence<String>) {
    rules.withLock { rules in
      for name in names where rules[name] == nil {
        guard rules.count < Self.mostRules else { return }
        rules[name] = rules.count + Self.otherRule + 1
      }
    }
  }

  /// Counts one decision.
  /// - Parameters:
  ///   - rule: The rule that decided; nil if none did, which saves a lookup.
  ///   - lane: The loop that counts the decision.
  @inline(__always) public func count(action: Int, code: Int, rule: String?, lane: Int) {
    let place = rule.map(place) ?? Self.noRule
    lanes[lane % lanes.count].decisions.add(
      1, at: (place * Self.mostActions + action) * Self.mostCodes + code)
  }

  /// Counts a request that a rule in audit mode would have denied.
  public func countObjection(action: Int, rule: String, lane: Int) {
    lanes[lane % lanes.count].objections.add(1, at: place(of: rule) * Self.mostActions + action)
  }

  private func place(of rule: String) -> Int { rules.withLock { $0[rule] ?? Self.otherRule } }

  /// All slots with the names of their rules, in the order of registration.
  private var names: [(place: Int, name: String)] {
    let known = rules.withLock { $0.map { (place: $0.value, name: $0.key) } }.sorted { $0.place < $1.place }
    return [(Self.noRule, ""), (Self.otherRule, "_other")] + known
  }

  /// A code, a rule, and the number of decisions with both.
  public struct Share: Sendable {
    /// `allow`, `deny` or `error`.
    public let decision: String
    /// The code; empty without one.
    public let code: String
    /// The rule that decided: empty without one, `_other` for a rule without its own series.
    public let rule: String
    public let count: Int
  }

  /// The totals over all actions, keyed by a number for code and rule. Zeros are left out. `shares` decodes
  /// the numbers.
  public func totals() -> [Int: Int] {
    let decisions = lanes.map(\.decisions)
    var totals: [Int: Int] = [:]
    for (place, _) in names {
      for action in actions.indices {
        for code in codes.indices {
          let count = decisions.total(at: (place * Self.mostActions + action) * Self.mostCodes + code)
          if count > 0 { totals[place * Self.mostCodes + code, default: 0] &+= count }
        }
      }
    }
    return totals
  }

  /// Decodes counts keyed as in `totals`, the largest count first.
  public func shares(_ counts: [Int: Int]) -> [Share] {
    let names = Dictionary(uniqueKeysWithValues: names.map { ($0.place, $0.name) })
    return counts.map { number, count in
      let code = codes[number % Self.mostCodes]
      return Share(
        decision: code.decision, code: code.word, rule: names[number / Self.mostCodes] ?? "", count: count)
    }
    .sorted { ($1.count, $0.code, $0.rule) < ($0.count, $1.code, $1.rule) }
  }

  /// Adds up counts keyed as in `totals`, by decision.
  public func outcomes(_ counts: [Int: Int]) -> (allow: Int, deny: Int, error: Int) {
    var outcomes = (allow: 0, deny: 0, error: 0)
    for (number, count) in counts {
      switch codes[number % Self.mostCodes].decision {
      case "allow": outcomes.allow &+= count
      case "deny": outcomes.deny &+= count
      default: outcomes.error &+= count
      }
    }
    return outcomes
  }

  /// Writes the family of decisions: the series that counted any, and those in `always` even at 0.
  /// - Parameter always: Codes by action, by the rule that decided; an empty name for no rule.
  public func appendDecisions(
    _ name: String, _ help: String, always: [String: [String: Set<String>]] = [:], to text: inout MetricsText
  ) {
    text.family(name, .counter, help)
    let decisions = lanes.map(\.decisions)
    for (place, rule) in names {
      let always = always[rule] ?? [:]
      for (action, word) in actions.enumerated() {
        for (index, code) in codes.enumerated() {
          let count = decisions.total(at: (place * Self.mostActions + action) * Self.mostCodes + index)
          guard count > 0 || always[word]?.contains(code.word) == true else {
            continue
          }
          text.sample(
            [("action", word), ("decision", code.decision), ("rule", rule), ("code", code.word)], count)
        }
      }
    }
  }

  /// Writes the family of requests that rules in audit mode would have denied.
  public func appendObjections(_ name: String, _ help: String, to text: inout MetricsText) {
    text.family(name, .counter, help)
    let objections = lanes.map(\.objections)
    for (place, rule) in names {
      for (action, word) in actions.enumerated() {
        let count = objections.total(at: place * Self.mostActions + action)
        guard count > 0 else { continue }
        text.sample([("action", word), ("rule", rule)], count)
      }
    }
  }
}
