// Explains how a request would be decided, rule by rule.

import API
package import Callers
import Gate
import HTTP
package import JSON

/// A decision with every rule's verdict and the reasons.
public struct Explanation: Sendable {
  /// Whether the server would allow the request.
  public let isAllowed: Bool
  /// The code of the refusal, as in the problem document; nil if the request is allowed.
  public let code: String?
  /// The rule that refuses; nil if none does, or if the refusal comes before the rules.
  public let rule: String?
  let verdicts: RuleVerdicts
  /// The reasons for the verdicts, in the same order.
  let reasons: [RuleReason]
  /// The reason of a refusal that does not come from a rule; nil for a decision of the rules.
  let cause: String?

  /// The reason why a request without credentials is refused, for operators.
  package static let noCredential =
    "a request without credentials is refused where callers are configured and allow_anonymous is not true"

  /// Explains a decision of the rules.
  init(_ decision: Decision, reasons: [RuleReason]) {
    let denial = decision.denial
    isAllowed = denial == nil
    code = denial.map { Problem.Code($0.code).rawValue }
    rule = denial?.rule
    verdicts = decision.verdicts
    self.reasons = reasons
    cause = nil
  }

  /// Explains a refusal that does not come from a rule.
  init(_ code: Problem.Code, because cause: String, verdicts: RuleVerdicts) {
    isAllowed = false
    self.code = code.rawValue
    rule = nil
    self.verdicts = verdicts
    reasons = verdicts.map { _ in RuleReason(skip: .notReached, text: "no rule was evaluated") }
    self.cause = cause
  }

  /// The decision as the last line of a text: `decision: allow` or `decision: deny CODE RULE`.
  public var decisionLine: String {
    guard let code else { return "decision: allow" }
    return "decision: deny \(code) \(rule ?? "-")"
  }

  /// A line for each rule: its name, its verdict, and why.
  public var verdictLines: [String] {
    let width = (verdicts.map { $0.rule.utf8.count }.max() ?? 0) + 2
    let wordWidth = (verdicts.map { $0.verdict.word.utf8.count }.max() ?? 0) + 2
    func column(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: width - text.utf8.count)
    }
    return zip(verdicts, reasons).map { verdict, reason in
      column(verdict.rule, width) + column(verdict.verdict.word, wordWidth)
        + (reason.skip.map { "\($0.words): " } ?? "") + reason.text
    }
  }

  /// The decision and its reason as a sentence.
  public var summary: String {
    guard let code else { return allowance }
    guard let rule, let index = verdicts.firstIndex(where: { $0.verdict == .deny }) else {
      return "Refused without a rule (\(code)): \(cause ?? "")."
    }
    return "Refused by \(rule) (\(code)): \(reasons[index].text)."
  }

  /// A sentence that says why the request is allowed.
  private var allowance: String {
    let asked = verdicts.filter { $0.verdict != .skipped }
    let audited = asked.filter { $0.verdict == .wouldDeny }.map(\.rule)
    let text: String
    switch asked.count {
    case 0:
      text = "Allowed: \(verdicts.isEmpty ? "there are no rules" : "no rule applies to this request")."
    case 1: text = "Allowed: the one rule that applies does not refuse it."
    default: text = "Allowed: none of the \(asked.count) rules that apply refuses it."
    }
    guard !audited.isEmpty else { return text }
    return text + " In audit mode: \(audited.joined(separator: ", ")) would refuse it."
  }

  /// The explanation as JSON, for `callgate explain --json`. `/admin/explain` returns the same document.
  public var json: String { String(decoding: document.serialized(), as: UTF8.self) }

  package var document: JSONObject {
    var document: JSONObject = ["decision": .string(isAllowed ? "allow" : "deny")]
    if let code { document["code"] = .string(code) }
    if let rule { document["rule"] = .string(rule) }
    document["reason"] = .string(summary)
    document["verdicts"] = .array(
      zip(verdicts, reasons).map { verdict, reason in
        var member: JSONObject = ["rule": .string(verdict.rule), "verdict": .string(verdict.verdict.word)]
        if let skip = reason.skip { member["because"] = .string(skip.rawValue) }
        member["reason"] = .string(reason.text)
        return .object(member)
      })
    return document
  }
}

extension Decider {
  /// The app of a hypothetical request, after the same checks as for a real one.
  package func admit(_ entrance: Entrance) throws(Refusal) -> App? {
    let facts = entrance.facts
    // An enrollment without a user has no caller that a stop could name.
    return try admit(
      Applicant(
        callerID: facts.action == .enrol ? facts.callerID : facts.effectiveCaller,
        installedFor: entrance.installedFor, hasOwnSubject: entrance.hasOwnSubject,
        isInstallation: entrance.isInstallation, ownerID: facts.installation?.callerID),
      to: facts.action, app: facts.appID.map { .value($0) } ?? .absent)
  }

  /// The decision on a hypothetical request, with its reasons. Uses no allowances. Queries remote policies as
  /// for a real request.
  ///
  /// For a rule without a given count, the current count from the store is used.
  package func explain(_ inquiry: Question.Inquiry) async -> Explanation {
    // As for a real request, this refusal comes before stops and rules.
    if let reason = inquiry.entrance.unauthenticated {
      return Explanation(.unauthenticated, because: reason, verdicts: .none)
    }
    var facts = inquiry.facts
    facts.agents = agents()
    do throws(Decider.Refusal) {
      facts.appID = try admit(inquiry.entrance)?.id
    } catch {
      return Explanation(error.problem.code, because: error.reason, verdicts: policy.skipped)
    }
    if let (code, reason) = inquiry.entrance.refusal {
      return Explanation(Problem.Code(code), because: reason, verdicts: policy.skipped)
    }
    let given = GivenStates(
      counted: inquiry.states, rules: inquiry.countedRules, otherwise: await states(for: facts))
    do throws(Problem) {
      let decision = try await decide(facts, given)
      return Explanation(decision, reasons: decision.reasons(of: facts, states: given))
    } catch {
      return Explanation(
        error.code, because: "too many queries wait for a policy",
        verdicts: policy.skipped)
    }
  }
}

/// The counts from the question. Rules without one read their state from the store.
private struct GivenStates: AllowanceStates, Sendable {
  let counted: CountedStates
  let rules: Set<String>
  let otherwise: any AllowanceStates & Sendable

  func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    rules.contains(key.rule) ? counted.lookup(key) : otherwise.lookup(key)
  }
}
