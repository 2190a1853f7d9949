// Tests of the built-in rule that refuses numbers that an operator has blocked.

import Documents
import Gate
import Platform
import TestSupport
import Testing

struct BlockedNumberTests {
  private func facts(_ number: String = "+14155550123") throws -> Facts {
    var facts = Facts.request(.callback)
    facts.phone = try E164(number)
    return facts
  }

  private func words(_ decision: Decision) -> [String] {
    decision.verdicts.map { "\($0.rule) \($0.verdict.word)" }
  }

  private func decided(
    _ policy: Policy, _ facts: Facts, _ questions: Evaluation.Questions = .all, isBlocked: Bool = true
  ) -> Decision {
    var evaluation = policy.evaluation(of: facts, asking: questions, isBlocked: isBlocked)
    guard case .decided(let decision) = evaluation.next(FetchedStates()) else {
      preconditionFailure("a rule that asks")
    }
    return decision
  }

  @Test func `neither default_deny false nor brakes off nor an allowed number lifts a block`() throws {
    let policy = try Policy(
      rules: [Rule(name: "mine", kind: .numbers(NumbersRule(allow: ["+1"], refusesDefaultRanges: false)))],
      brakes: .off)
    #expect(words(decided(policy, try facts(), isBlocked: false)) == ["mine allow"])
    let decision = decided(policy, try facts())
    #expect(words(decision) == ["mine allow", "blocked deny"])
    #expect(decision.denial?.code == .numberNotAllowed && decision.denial?.rule == "blocked")
    #expect(decision.denial?.reason == "an operator blocked this number")
    #expect(decision.denial?.publicRule == "default-numbers")
    #expect(decision.denial?.retryAfter == nil)
  }

  @Test(arguments: [Evaluation.Questions.all, .besideAllowances, .whenDue])
  func `a block holds for requests, for moves and dialogs, and at the due time`(
    _ questions: Evaluation.Questions
  )
    throws
  {
    let policy = Policy(brakes: Brakes(numberPerDay: 1))
    #expect(decided(policy, try facts(), questions, isBlocked: false).denial == nil)
    let decision = decided(policy, try facts(), questions)
    #expect(decision.denial?.rule == "blocked")
    #expect(
      words(decision) == [
        "blocked deny", "brake-number skipped", "brake-burst skipped", "brake-hour skipped",
      ])
  }

  @Test func `a configured rule refuses before, and a rule in audit mode does not`() throws {
    let rule = { (mode: Rule.Mode) throws in
      try Policy(rules: [
        Rule(name: "mine", mode: mode, kind: .numbers(NumbersRule(deny: ["+1"])))
      ])
    }
    #expect(decided(try rule(.enforce), try facts()).denial?.rule == "mine")
    #expect(words(decided(try rule(.audit), try facts())) == ["mine would_deny", "blocked deny"])
  }

  @Test func `a blocked number in a default range is blocked`() throws {
    #expect(words(decided(.open, try facts("+19002123456"))) == ["blocked deny"])
  }

  @Test func `a configured rule may have the name, and each is shown with its own verdict`() throws {
    let policy = try Policy(rules: [Rule(name: "blocked", kind: .numbers(NumbersRule(deny: ["+44"])))])
    let decision = decided(policy, try facts())
    #expect(words(decision) == ["blocked allow", "blocked deny"])
    #expect(
      decision.reasons(of: try facts(), states: FetchedStates()).last?.text
        == "an operator blocked this number")
    let denial = try #require(decision.denial)
    #expect(policy.reason(for: denial, of: try facts()) == "an operator blocked this number")
  }

  @Test func `an audit line has the verdict of the rule`() throws {
    let verdicts = decided(.open, try facts()).verdicts
    let octets = [UInt8](capacity: verdicts.mostOctets) { verdicts.appendObjects(to: &$0) }
    #expect(String(decoding: octets, as: UTF8.self) == #"{"rule":"blocked","verdict":"deny"}"#)
  }
}
