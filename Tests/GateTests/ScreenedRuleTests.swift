// Tests of rules that look a number up before it is called.

import Testing

@testable import Documents
@testable import Gate

struct ScreenedRuleTests {
  private static let now = Instant(seconds: 1_795_000_000)
  private static let screened: DocumentNode = ["name": "screened", "kind": "screened"]
  private static let strict: DocumentNode = ["name": "screened", "kind": "screened", "on_failure": "deny"]

  private func policy(_ rules: DocumentNode..., brakes: Brakes = .off) throws -> Policy {
    let read = Policy.reading(DocumentNode(.list(rules)), known: KnownNames(), brakes: brakes)
    return try #require(read.policy)
  }

  private func facts(_ phone: String = "+14155550123", _ number: NumberEvidence? = NumberEvidence()) throws
    -> Facts
  {
    var facts = Facts.request(.callback, at: Self.now)
    facts.phone = try E164(phone)
    facts.number = number
    return facts
  }

  /// The decision, and how often it requested a verdict.
  private func decide(
    _ policy: Policy, _ facts: Facts, _ answer: ScreeningAnswer,
    states: any AllowanceStates = FetchedStates(),
    isBlocked: Bool = false
  ) -> (Decision, lookups: Int) {
    var evaluation = policy.evaluation(of: facts, isBlocked: isBlocked)
    var lookups = 0
    while true {
      switch evaluation.next(states) {
      case .decided(let decision): return (decision, lookups)
      case .screens:
        lookups += 1
        evaluation.answer(answer)
      case .proves, .asks: preconditionFailure("there is no such rule")
      }
    }
  }

  @Test func `a number is looked up last, and only if every other rule and limit allows the request`() throws
  {
    let europe: DocumentNode = ["name": "europe", "kind": "numbers", "allow": ["+49"]]
    let rate: DocumentNode = ["name": "one", "kind": "rate", "key": "global", "limit": "1", "per": "1h"]
    let found = ScreeningAnswer.found(.refused(setting: "validation.refuse.status"))
    let refused = try decide(policy(Self.screened, europe), facts(), found)
    #expect(refused.lookups == 0 && refused.0.denial?.rule == "europe")
    let limited = try policy(Self.screened, rate)
    let used = try CountedStates(policy: limited, counts: ["one": 1], at: Self.now)
    let exhausted = try decide(limited, facts(), found, states: used)
    #expect(exhausted.lookups == 0 && exhausted.0.denial?.code == .rateLimited)
    #expect(try decide(policy(Self.screened), facts(), found, isBlocked: true).lookups == 0)
    #expect(try decide(policy(Self.screened), facts("+19005550100"), found).lookups == 0)
    let asked = try decide(limited, facts(), found)
    #expect(asked.lookups == 1 && asked.0.denial?.rule == "screened")
    #expect(asked.0.verdicts.map(\.verdict) == [.deny, .allow, .allow])
  }

  @Test func `a refusal names the setting to operators, and the default rule to callers`() throws {
    let found = ScreeningAnswer.found(.refused(setting: "do_not_call.lists"))
    let denial = try #require(try decide(policy(Self.screened), facts(), found).0.denial)
    #expect(
      (denial.code, denial.rule, denial.publicRule) == (.numberNotAllowed, "screened", "default-numbers"))
    #expect(denial.reason?.contains("numbers.screening.do_not_call.lists") == true)
  }

  @Test func `two rules look a number up once, and each decides about a failure for itself`() throws {
    let failed = ScreeningAnswer.found(.failed("Talkdesk did not respond in time"))
    let lenient = try decide(policy(Self.screened), facts(), failed)
    #expect(lenient.0.denial == nil && lenient.lookups == 1)
    let second: DocumentNode = ["name": "second", "kind": "screened", "on_failure": "deny"]
    let both = try decide(policy(Self.screened, second), facts(), failed)
    #expect(
      both.lookups == 1 && both.0.denial?.code == .upstreamUnavailable && both.0.denial?.rule == "second")
    let watched: DocumentNode = [
      "name": "screened", "kind": "screened", "on_failure": "deny", "mode": "audit",
    ]
    let audit = try decide(policy(watched), facts(), failed)
    #expect(audit.0.denial == nil && audit.0.audited.map(\.code) == [.upstreamUnavailable])
  }

  @Test func `beyond the limit on lookups a number is not called, whatever on_failure says`() throws {
    let policy = try policy(Self.screened, brakes: Brakes())
    let full = policy.lookups?.plan.state(used: 500, at: Self.now)
    let denial = try #require(
      try decide(policy, facts(), .uncounted(.refused(index: 0, states: [full]))).0.denial)
    #expect((denial.code, denial.rule) == (.rateLimited, "brake-lookups"))
    let away = try decide(policy, facts(), .uncounted(.unavailable)).0.denial
    #expect((away?.code, away?.rule) == (.storeUnavailable, "brake-lookups"))
  }

  @Test func `a saved verdict costs no lookup, and a number that is not asked about again none either`()
    throws
  {
    let refusal = ScreeningFinding.refused(setting: "validation.refuse.status")
    let known = try facts("+14155550123", NumberEvidence(screening: refusal))
    let saved = try decide(policy(Self.strict), known, .unasked)
    #expect(saved.lookups == 0 && saved.0.denial?.code == .numberNotAllowed)
    let moved = try decide(policy(Self.strict), facts("+14155550123", nil), .unasked)
    #expect(moved.lookups == 0 && moved.0.denial == nil)
  }
}
