// Tests of `numbers`: every key is read, and each mistake is named.

import Talkdesk
import Testing
import Trust

@testable import Configuration
@testable import Gate
@testable import RoomSupport

@Suite struct NumbersSectionTests {
  private static let digest = String(repeating: "0a", count: 32)
  private static let firebase = "firebase: { project_number: \"123456789012\", project_id: shop-prod }"

  private func yaml(_ numbers: String, _ rule: String = "") -> String {
    "numbers: { \(numbers) }\n" + (rule.isEmpty ? "" : "rules: [{ name: a, \(rule) }]\n")
  }

  private func numbers(_ text: String) throws -> Configuration.Numbers {
    try #require(try Fixture.load(yaml(text)).configuration.numbers)
  }

  @Test func `nothing is configured without the section`() throws {
    #expect(try Fixture.load("").configuration.numbers == nil)
  }

  @Test func `an empty claim and a project have the usual values`() throws {
    let numbers = try numbers("proofs: { claim: {}, \(Self.firebase) }")
    #expect(numbers.claim == NumberClaim(name: "phone_number", verified: "phone_number_verified"))
    #expect(numbers.firebase?.keysURL == "https://fpnv.googleapis.com/v1beta/jwks")
    #expect(numbers.firebase?.project.number == "123456789012" && numbers.firebase?.project.id == "shop-prod")
    #expect(numbers.remember == .seconds(30 * 86_400))
    #expect(numbers.screening == nil && numbers.consentTexts.isEmpty)
  }

  @Test func `every key arrives`() throws {
    let numbers = try numbers(
      """
      proofs: { claim: { name: "https://a.example/tel", verified: "" }, remember: 0 }, consent: { texts: { v3: \(Self.digest) } },
      screening: { validation: { refuse: { status: [HIGH_risk], line_type: [pager], tcpa_blacklist: true, fraud_score: 85 } },
        do_not_call: { lists: [a, b], timezone: Europe/Lisbon }, remember: 12h, url: "https://api.example" }
      """)
    #expect(numbers.claim == NumberClaim(name: "https://a.example/tel", verified: ""))
    #expect(numbers.remember == .zero)
    #expect(numbers.consentTexts == [ConsentText(name: "v3", digest: Self.digest)])
    let screening = try #require(numbers.screening)
    #expect(screening.lists == ["a", "b"] && screening.zone.name == "Europe/Lisbon")
    #expect(screening.remember == .seconds(43_200) && screening.url == "https://api.example")
    let refusals = try #require(screening.validation)
    #expect(refusals.statuses == ["high_risk"] && refusals.lineTypes == ["pager"])
    #expect(refusals.tcpaBlacklist && refusals.fraudScore == 85)
  }

  @Test(arguments: [
    ("own_number", "", "numbers.proofs"), ("consent", "", "numbers.consent"),
    ("screened", "", "numbers.screening"),
    ("own_number", "consent: { texts: { v3: DIGEST } }", "numbers.proofs"),
    ("consent", "proofs: { claim: {} }", "numbers.consent"),
    ("screened", "proofs: { claim: {} }", "numbers.screening"),
    ("own_number, on: access", "proofs: { claim: {} }", "on: callback"),
    ("consent, on: [access]", "consent: { texts: { v3: DIGEST } }", "on: callback"),
    ("screened, on: access", "screening: { do_not_call: { lists: [a] } }", "on: callback"),
    ("consent, texts: [v9]", "consent: { texts: { v3: DIGEST } }", "v9"),
    ("consent, texts: []", "consent: { texts: { v3: DIGEST } }", "texts"),
    ("screened, timeout: 31s", "screening: { do_not_call: { lists: [a] } }", "timeout"),
    ("screened, timeout: 0s", "screening: { do_not_call: { lists: [a] } }", "timeout"),
    ("screened, on_failure: later", "screening: { do_not_call: { lists: [a] } }", "on_failure"),
    ("own_number, texts: [v3]", "proofs: { claim: {} }", "texts"),
  ]) func `a rule about numbers that cannot work is named`(_ rule: String, _ section: String, _ words: String)
  {
    let text = yaml(section.replacing("DIGEST", with: Self.digest), "kind: \(rule)")
    let problems = Fixture.problems(text)
    #expect(problems.contains { $0.contains(words) }, "\(problems)")
  }

  @Test(arguments: [
    ("proof: {}", "numbers.proof"), ("proofs: { remember: 1d }", "numbers.proofs"),
    ("proofs: { claim: { verify: x } }", "numbers.proofs.claim.verify"),
    ("proofs: { claim: { name: \"\" } }", "numbers.proofs.claim.name"),
    ("proofs: { claim: {}, remember: 401d }", "numbers.proofs.remember"),
    ("proofs: { claim: {}, remember: soon }", "numbers.proofs.remember"),
    ("proofs: { firebase: { project_id: shop } }", "project_number"),
    ("proofs: { firebase: { project_number: \"123456789012\" } }", "project_id"),
    ("proofs: { firebase: { project_number: shop, project_id: shop } }", "project_number"),
    (
      "proofs: { firebase: { project_number: \"1\", project_id: a, keys_url: \"http://a.example/\" } }",
      "keys_url"
    ),
    ("consent: {}", "numbers.consent.texts"), ("consent: { texts: {} }", "numbers.consent.texts"),
    ("consent: { texts: { v3: abc } }", "numbers.consent.texts.v3"),
    ("consent: { texts: { v3: null } }", "numbers.consent.texts.v3"),
    ("consent: { texts: { \"a b\": DIGEST } }", "numbers.consent.texts.a b"),
    ("screening: {}", "numbers.screening"), ("screening: { remember: 1d }", "numbers.screening"),
    ("screening: { validation: {} }", "numbers.screening.validation.refuse"),
    ("screening: { validation: { refuse: {} } }", "numbers.screening.validation.refuse"),
    (
      "screening: { validation: { refuse: { tcpa_blacklist: false } } }",
      "numbers.screening.validation.refuse"
    ),
    ("screening: { validation: { refuse: { spammer: true, fraud_score: 85 } } }", "spammer"),
    ("screening: { validation: { refuse: { status: [risky] } } }", "refuse.status[0]"),
    ("screening: { validation: { refuse: { fraud_score: 101 } } }", "refuse.fraud_score"),
    ("screening: { validation: { refuse: { tcpa_blacklist: \"N/A\" } } }", "refuse.tcpa_blacklist"),
    ("screening: { do_not_call: {} }", "numbers.screening.do_not_call"),
    ("screening: { do_not_call: { lists: [] } }", "numbers.screening.do_not_call"),
    ("screening: { do_not_call: { lists: [a/b] } }", "numbers.screening.do_not_call.lists[0]"),
    ("screening: { do_not_call: { lists: [a,b,c,d,e,f,g,h,i,j,k] } }", "numbers.screening.do_not_call"),
    ("screening: { do_not_call: { lists: [a], timezone: Lisbon } }", "do_not_call.timezone"),
    ("screening: { do_not_call: { lists: [a] }, remember: 401d }", "numbers.screening.remember"),
    ("screening: { do_not_call: { lists: [a] }, url: \"ftp://a.example\" }", "numbers.screening.url"),
  ]) func `a mistake is named`(_ section: String, _ words: String) {
    let problems = Fixture.problems(yaml(section.replacing("DIGEST", with: Self.digest)))
    #expect(problems.contains { $0.contains(words) }, "\(problems)")
  }

  @Test(arguments: ["identity-phone-validation:read", "do-not-call-lists:manage"])
  func `a scope of screening is handed out nowhere`(_ scope: String) {
    for text in [
      "talkdesk: { scope: \"account:read \(scope)\" }", "apps: { shop: { scope: \"\(scope)\" } }",
    ] {
      #expect(
        Fixture.problems(text).contains { $0.contains(scope) || $0.contains("leaves the server") }, "\(text)")
    }
    let problems = Fixture.problems("", environment: Fixture.changed(["TD_SCOPE": scope]))
    #expect(problems.contains { $0.contains("TD_SCOPE") }, "\(problems)")
  }
}
