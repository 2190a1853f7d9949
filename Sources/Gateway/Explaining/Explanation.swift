// What would become of a request, rule by rule.

internal import Gate
internal import HTTP
internal import JSON

/// A decision with every rule's verdict.
public struct Explanation: Sendable {
  /// Whether the request would go on to Talkdesk.
  public let isAllowed: Bool
  /// Why not, as the code of the problem document.
  public let code: String?
  /// The rule that refuses; nil where none does, or the refusal comes before the rules.
  public let rule: String?
  let verdicts: RuleVerdicts

  /// The decision as the last line of a text: `decision: allow` or `decision: deny CODE RULE`.
  public var decisionLine: String {
    guard let code else { return "decision: allow" }
    return "decision: deny \(code) \(rule ?? "-")"
  }

  /// A line for each rule, its verdict beside its name.
  public var verdictLines: [String] {
    let width = (verdicts.map { $0.rule.utf8.count }.max() ?? 0) + 2
    return verdicts.map { verdict in
      verdict.rule + String(repeating: " ", count: width - verdict.rule.utf8.count) + verdict.verdict.word
    }
  }

  /// The document that `/admin/explain` answers.
  public var json: String { String(decoding: document.serialized(), as: UTF8.self) }

  var document: JSONObject {
    var document: JSONObject = ["decision": .string(isAllowed ? "allow" : "deny")]
    if let code { document["code"] = .string(code) }
    if let rule { document["rule"] = .string(rule) }
    document["verdicts"] = .array(
      verdicts.map { ["rule": .string($0.rule), "verdict": .string($0.verdict.word)] })
    return document
  }
}

extension Decider {
  /// What would become of a request. Takes nothing; remote policies are asked as on its way.
  ///
  /// Where the question gives no count, what is used now counts.
  func explain(_ inquiry: Question.Inquiry) async -> Explanation {
    // As on its way: nobody is asked, neither the switch nor the rules.
    guard !inquiry.isUnauthenticated else {
      return Explanation(
        isAllowed: false, code: Problem.Code.unauthenticated.rawValue, rule: nil, verdicts: .none)
    }
    var facts = inquiry.facts
    do throws(Decider.Refusal) {
      facts.appID = try admit(inquiry.caller, to: facts.action, app: inquiry.app)?.id
    } catch {
      return Explanation(
        isAllowed: false, code: error.problem.code.rawValue, rule: nil, verdicts: policy.skipped)
    }
    let given = GivenStates(
      counted: inquiry.states, rules: inquiry.countedRules, otherwise: await states(for: facts))
    let decision: Decision
    do throws(Problem) {
      decision = try await decide(facts, given)
    } catch {
      return Explanation(isAllowed: false, code: error.code.rawValue, rule: nil, verdicts: policy.skipped)
    }
    let denial = decision.denial
    return Explanation(
      isAllowed: denial == nil, code: denial.map { Problem.Code($0.code).rawValue }, rule: denial?.rule,
      verdicts: decision.verdicts)
  }
}

/// Counts where they are given, and what is kept where not.
private struct GivenStates: AllowanceStates, Sendable {
  let counted: CountedStates
  let rules: Set<String>
  let otherwise: any AllowanceStates & Sendable

  func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    rules.contains(key.rule) ? counted.lookup(key) : otherwise.lookup(key)
  }
}
