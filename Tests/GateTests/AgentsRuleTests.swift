// Tests of rules about the number of available agents.

import Gate
import Testing

@testable import Documents

struct AgentsRuleTests {
  private func policy(_ members: (String, DocumentNode)...) throws -> Policy {
    let rule = DocumentNode(
      .mapping(([("name", "agents"), ("kind", "agents")] + members).map { DocumentNode.Member($0.0, $0.1) }))
    return try #require(Policy.reading(DocumentNode(.list([rule]))).policy)
  }

  private func facts(_ agents: Int64?, action: Action = .callback, at: Instant? = nil) throws -> Facts {
    var facts = Facts.request(action)
    facts.phone = try E164("+14155550123")
    facts.agents = agents
    facts.at = at
    return facts
  }

  private func denial(_ policy: Policy, _ facts: Facts) -> Denial? {
    policy.decide(facts, states: FetchedStates()).denial
  }

  @Test func `a request is refused below the least number, and told to wait a minute`() throws {
    let two = try policy(("at_least", "2"))
    #expect(two.asksAgents)
    #expect(try denial(two, facts(2)) == nil)
    let refused = try #require(try denial(two, facts(1)))
    #expect((refused.code, refused.rule, refused.retryAfter) == (.noAgents, "agents", 60))
    #expect(try denial(policy(), facts(0))?.code == .noAgents)
    #expect(try denial(policy(), facts(1)) == nil)
    #expect(try denial(policy(), facts(0, action: .access))?.code == .noAgents)
  }

  @Test func `a number that is not known allows, or refuses where the rule says so`() throws {
    #expect(try denial(policy(), facts(nil)) == nil)
    #expect(try denial(policy(("on_stale", "allow")), facts(nil)) == nil)
    #expect(try denial(policy(("on_stale", "deny")), facts(nil))?.code == .noAgents)
  }

  @Test func `an appointment is not judged by the agents of now`() throws {
    let strict = try policy(("on_stale", "deny"))
    let later = Instant(seconds: 1_800_000_000)
    #expect(try denial(strict, facts(0, at: later)) == nil)
    #expect(try denial(strict, facts(nil, at: later)) == nil)
    var evaluation = try strict.evaluation(of: facts(0), asking: .whenDue)
    guard case .decided(let decision) = evaluation.next(FetchedStates()) else {
      throw AgentsTestError.undecided
    }
    #expect(decision.denial == nil)
  }

  private enum AgentsTestError: Error { case undecided }

  @Test(arguments: [
    (Int64(0), "0 agents are available; at_least is 1"), (1, "1 agent is available; at_least is 1"),
    (nil, "the number of available agents is not known; on_stale is allow"),
  ])
  func `the reason has the number`(agents: Int64?, text: String) throws {
    let decision = try policy().decide(facts(agents), states: FetchedStates())
    #expect(try decision.reasons(of: facts(agents), states: FetchedStates()).first?.text == text)
  }

  @Test(arguments: [("0", "out of range"), ("1000001", "out of range"), ("one", "not a")])
  func `a least number that is none is refused`(text: String, words: String) throws {
    let rule: DocumentNode = ["name": "a", "kind": "agents", "at_least": DocumentNode(stringLiteral: text)]
    let problems = Policy.reading(DocumentNode(.list([rule]))).problems
    #expect(problems.count == 1 && problems.first?.message.contains(words) ?? false, "\(problems)")
    #expect(throws: Never.self) { try AgentsRule(atLeast: 1_000_000) }
  }

  @Test func `a test of rules says how many agents there are`() throws {
    let policy = try policy(("at_least", "2"))
    let reading = policy.readingTests(
      [
        "tests": [
          ["name": "one", "agents": "1", "expect": "deny", "code": "no_agents", "rule": "agents"],
          ["name": "two", "agents": "2", "expect": "allow"], ["name": "unknown", "expect": "allow"],
        ]
      ], context: RuleTestContext(now: Instant(seconds: 1_795_003_200)))
    guard case .tests(let tests) = reading else {
      Issue.record("\(reading)")
      return
    }
    #expect(tests.compactMap { $0.failure(under: policy) } == [])
  }
}
