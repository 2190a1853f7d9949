// Tests of rules that ask whether a number is the caller's, and whether its owner agreed to be called.

import Testing

@testable import Documents
@testable import Gate

struct OwnNumberTests {
  private static let now = Instant(seconds: 1_795_000_000)
  private static let terms = NumberTerms(
    claim: NumberClaim(name: "phone_number", verified: "phone_number_verified"), takesProofs: true,
    consentTexts: [ConsentText(name: "v3", digest: String(repeating: "ab", count: 32))])

  private func policy(_ rules: DocumentNode...) throws -> Policy {
    var known = KnownNames()
    known.numbers = Self.terms
    return try #require(Policy.reading(DocumentNode(.list(rules)), known: known).policy)
  }

  private static let own: DocumentNode = ["name": "own", "kind": "own_number"]

  private func facts(
    _ number: NumberEvidence? = NumberEvidence(), claims: [FactMember] = []
  ) throws -> Facts {
    var facts = Facts.request(.callback, at: Self.now)
    facts.phone = try E164("+14155550123")
    facts.claims = claims
    facts.number = number
    return facts
  }

  private func claim(_ value: FactValue, _ verified: FactValue? = .bool(true)) -> [FactMember] {
    [FactMember("phone_number", value)] + (verified.map { [FactMember("phone_number_verified", $0)] } ?? [])
  }

  /// The decision, if the number's proof gets this answer.
  private func decide(_ policy: Policy, _ facts: Facts, _ answer: NumberProofAnswer? = nil) -> Decision {
    var evaluation = policy.evaluation(of: facts)
    while true {
      switch evaluation.next(FetchedStates()) {
      case .decided(let decision): return decision
      case .proves:
        guard let answer else { preconditionFailure("the proof is judged") }
        evaluation.answer(answer)
      case .asks, .screens: preconditionFailure("there is no such rule")
      }
    }
  }

  /// The charges that the store takes with the record of an allowed request.
  private func recordCharges(_ decision: Decision) -> RecordCharges? {
    switch decision.settledWithRecord(at: Self.now) {
    case .granted(_, let grant): grant.charges
    case .refused: nil
    }
  }

  @Test func `a claim comes first, then what is remembered, then the proof`() throws {
    let policy = try policy(Self.own)
    let all = NumberEvidence(isRemembered: true, hasProof: true)
    #expect(decide(policy, try facts(all, claims: claim(.string("+14155550123")))).ownership == .claim)
    #expect(decide(policy, try facts(all)).ownership == .remembered)
    let proof = NumberEvidence(hasProof: true)
    let good = NumberProofAnswer.proven(id: "a", expires: Self.now.advanced(by: .seconds(3600)))
    let decision = decide(policy, try facts(proof), good)
    #expect(decision.denial == nil && decision.ownership == .proof)
    #expect(decision.charges.map(\.key.rule) == [Rule.numberProof, Rule.numberProofs])
    let missing = decide(policy, try facts())
    #expect(missing.ownership == .missing)
    #expect(missing.denial?.code == .numberNotProven)
    #expect(missing.denial?.options == ["proof"])
    #expect(
      try decide(policy, facts(claims: claim(.string("+14155550124")))).denial?.options == ["claim", "proof"])
  }

  @Test func `a number that is not asked about again passes`() throws {
    #expect(
      decide(try policy(Self.own, ["name": "agreed", "kind": "consent"]), try facts(nil)).denial == nil)
  }

  @Test(arguments: [
    ("+14155550123", true), ("+1 415 555-0123", true), ("+1(415)555.0123;ext=7", true),
    ("14155550123", false),
    ("+14155550123;isub=7", false), ("+14155550124", false), ("tel:+14155550123", false), ("", false),
    ("+14155550123" + String(repeating: " ", count: 128), false),
  ])
  func `a claim is compared without its separators`(_ text: String, _ passes: Bool) throws {
    let decision = decide(try policy(Self.own), try facts(claims: claim(.string(text))))
    #expect((decision.denial == nil) == passes)
  }

  @Test(arguments: [
    (FactValue.bool(true), true), (.string("true"), true), (.string("True"), false), (.number("1"), false),
    (.bool(false), false), (.null, false), (.array([.bool(true)]), false),
  ])
  func `only true is verified`(_ value: FactValue, _ passes: Bool) throws {
    let decision = decide(try policy(Self.own), try facts(claims: claim(.string("+14155550123"), value)))
    #expect((decision.denial == nil) == passes)
    #expect(try decide(policy(Self.own), facts(claims: claim(.string("+14155550123"), nil))).denial != nil)
  }

  @Test func `a claim of an installation's app is no claim`() throws {
    var facts = try facts(claims: claim(.string("+14155550123")))
    facts.installation = InstallationFacts(id: "i", callerID: nil)
    #expect(decide(try policy(Self.own), facts).denial?.options == ["proof"])
  }

  @Test func `a name with a colon or slash is whole, another may be a path`() {
    let inner = FactValue.object([FactMember("tel", .string("+14155550123"))])
    let members = [FactMember("https://a.example/u", inner), FactMember("user", inner)]
    #expect(NumberClaim(name: "user.tel", verified: "").verifiedNumber(in: members) != nil)
    #expect(NumberClaim(name: "https://a.example/u.tel", verified: "").verifiedNumber(in: members) == nil)
  }

  @Test func `a proof that was used before refuses under the rule's own name`() throws {
    let policy = try policy(Self.own)
    let good = NumberProofAnswer.proven(id: "a", expires: Self.now.advanced(by: .seconds(3600)))
    let states = TestStates()
    func settle(at seconds: Int64) throws -> Denial? {
      var facts = try facts(NumberEvidence(hasProof: true))
      facts.instant = Self.now.advanced(by: .seconds(seconds))
      let decision = decide(policy, facts, good)
      guard case .allow(let clearance) = decision.outcome else { return decision.denial }
      return decision.settled(states.take(clearance.charges, at: facts.instant), at: facts.instant).parts().0
        .denial
    }
    #expect(try settle(at: 0) == nil)
    for seconds: Int64 in [0, 1, 1800, 3599] {
      let denial = try #require(try settle(at: seconds))
      #expect((denial.code, denial.rule, denial.retryAfter) == (.numberNotProven, "own", nil))
      #expect(denial.reason == OwnNumberRule.used)
    }
  }

  @Test func `half a million used proofs in a day are the most`() throws {
    let policy = try policy(Self.own)
    let good = NumberProofAnswer.proven(id: "a", expires: Self.now.advanced(by: .seconds(3600)))
    let facts = try facts(NumberEvidence(hasProof: true))
    let decision = decide(policy, facts, good)
    let full = decision.charges[1].plan.state(used: NumberProofLimits.most / 2, at: Self.now)
    let settled = decision.settled(decision.charges.take(from: [nil, full], at: Self.now), at: Self.now)
      .parts()
    #expect((settled.0.denial?.code, settled.0.denial?.rule) == (.overloaded, "own"))
  }

  @Test func `two rules spend a proof once, and one in audit mode refuses nothing`() throws {
    let good = NumberProofAnswer.proven(id: "a", expires: Self.now.advanced(by: .seconds(3600)))
    let audit: DocumentNode = ["name": "try", "kind": "own_number", "mode": "audit"]
    let both = decide(try policy(audit, Self.own), try facts(NumberEvidence(hasProof: true)), good)
    #expect(both.charges.count == 2 && both.charges.allSatisfy(\.isEnforced))
    let refused = decide(try policy(audit), try facts(NumberEvidence(hasProof: true)), .refused("broken"))
    #expect(refused.denial == nil && refused.audited.map(\.reason) == ["broken"])
    #expect(decide(try policy(audit), try facts(NumberEvidence(hasProof: true)), .unavailable).denial == nil)
  }

  @Test func `a rule in audit mode allows a used proof, which then uses nothing`() throws {
    let policy = try policy(["name": "try", "kind": "own_number", "mode": "audit"])
    let good = NumberProofAnswer.proven(id: "a", expires: Self.now.advanced(by: .seconds(3600)))
    func usesProof(_ saved: [AllowanceState?]) throws -> (Bool, [AllowanceReceipt]) {
      let charges = try #require(recordCharges(decide(policy, facts(NumberEvidence(hasProof: true)), good)))
      _ = charges.take(from: saved, at: Self.now)
      return (charges.usesProof, charges.receipts)
    }
    let first = try usesProof([nil, nil])
    #expect(first.0)
    #expect(try usesProof(first.1.map(\.taken)).0 == false)
  }

  @Test func `clients are not told of a limit on proofs`() throws {
    let policy = try policy(Self.own)
    let good = NumberProofAnswer.proven(id: "a", expires: Self.now.advanced(by: .seconds(3600)))
    let charges = try #require(recordCharges(decide(policy, facts(NumberEvidence(hasProof: true)), good)))
    _ = charges.take(from: [nil, nil], at: Self.now)
    #expect(charges.receipts.count == 2)
    #expect(charges.statuses.isEmpty)
  }

  // MARK: Consents

  @Test(
    arguments: [
      (nil, ConsentFault.missing), (GivenConsent(text: "v2", at: now), .unknownText),
      (GivenConsent(text: "v3", at: now), nil),
      (GivenConsent(text: "v3", at: now.advanced(by: .seconds(-86_400))), nil),
      (GivenConsent(text: "v3", at: now.advanced(by: .seconds(-86_401))), .outOfTime),
      (GivenConsent(text: "v3", at: now.advanced(by: .seconds(600))), nil),
      (GivenConsent(text: "v3", at: now.advanced(by: .seconds(601))), .outOfTime),
    ] as [(GivenConsent?, ConsentFault?)])
  func `a consent names a text, within a day`(_ consent: GivenConsent?, _ fault: ConsentFault?) throws {
    let denial = decide(
      try policy(["name": "agreed", "kind": "consent"]), try facts(NumberEvidence(consent: consent))
    ).denial
    #expect(denial?.code == fault.map { _ in .consentRequired })
    #expect(denial?.reason == fault?.rawValue)
    #expect(denial == nil || denial?.options == ["v3"])
  }

  @Test func `a text that is not configured is a problem of the rule`() throws {
    var known = KnownNames()
    known.numbers = Self.terms
    let rule: DocumentNode = ["name": "agreed", "kind": "consent", "texts": ["v9"]]
    #expect(Policy.reading(DocumentNode(.list([rule])), known: known).problems.count == 1)
  }

  @Test func `a saved consent is read as it was written`() throws {
    let saved = StoredConsent(GivenConsent(text: "v3", at: Self.now), to: Self.terms.consentTexts[0])
    #expect(StoredConsent(stored: saved.stored) == saved)
    #expect(saved.digest == "abababababababab")
    #expect(StoredConsent(stored: "x") == nil)
  }
}
