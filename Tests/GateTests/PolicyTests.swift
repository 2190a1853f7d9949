// Tests of how a policy decides from several rules.

import Gate
import Platform
import TestSupport
import Testing

@testable import Documents

struct PolicyTests {
  private func hours(_ windows: String) throws -> Rule.Kind {
    .hours(try Schedule(zone: .utc, weekly: week(Array(0..<7), windows)))
  }

  private func rate(_ limit: Int64, _ key: AllowanceScope = .caller, failing: FailurePolicy = .deny) throws
    -> Rule.Kind
  {
    .rate(try RateLimit(limit: limit, per: 60 * second), key: key, onStoreFailure: failing)
  }

  private let noon = Instant(seconds: 1_795_003_200)  // 2026-11-18T12:00:00Z, a Wednesday.

  private func words(_ decision: Decision) -> [String] {
    decision.verdicts.map { "\($0.rule) \($0.verdict.word)" }
  }

  @Test func `without rules everything is allowed but what the built-in rule refuses`() throws {
    var facts = Facts.request(.callback)
    facts.phone = try E164("+14155550123")
    let allowed = Policy.open.decide(facts, states: FetchedStates())
    #expect(words(allowed) == ["default-numbers allow"])
    #expect(allowed.settled(.taken([]), at: noon).parts().grant?.phone == facts.phone)
    facts.phone = try E164("+19002123456")
    let denied = Policy.open.decide(facts, states: FetchedStates())
    #expect(denied.denial == Denial(code: .numberNotAllowed, rule: "default-numbers"))
    #expect(denied.settled(.taken([]), at: noon).parts().grant == nil)
    #expect(words(Policy.open.decide(.request(), states: FetchedStates())) == [])
  }

  @Test func `the first denial decides and the rest are skipped, remote rules uncalled`() throws {
    let policy = try Policy(rules: [
      Rule(name: "a", kind: hours("00:00-24:00")), Rule(name: "b", kind: hours("13:00-14:00")),
      Rule(name: "c", kind: hours("14:00-15:00")),
      Rule(name: "d", kind: .remote(RemoteRule(url: "https://p.example"))),
    ])
    let decision = policy.decide(.request(at: noon), states: FetchedStates()) { _ in
      Issue.record("a remote rule after a denial was asked")
      return .allow
    }
    #expect(words(decision) == ["a allow", "b deny", "c skipped", "d skipped"])
    #expect(decision.denial?.code == .closed && decision.denial?.rule == "b")
  }

  @Test func `actions are numbered in their order`() {
    #expect(Action.allCases.map(\.number) == Array(0..<Action.allCases.count))
  }

  @Test func `enrol is concerned only by a rule that names it`() throws {
    let policy = try Policy(rules: [
      Rule(name: "unsaid", kind: hours("13:00-14:00")),
      Rule(name: "named", actions: [.enrol], kind: hours("14:00-15:00")),
    ])
    for action in Action.allCases {
      let decision = policy.decide(.request(action, at: noon), states: FetchedStates())
      let denying = words(decision).filter { $0.hasSuffix(" deny") }
      #expect(denying == [action == .enrol ? "named deny" : "unsaid deny"], "\(action)")
    }
  }

  @Test func `the next opening is one at which every schedule is open`() throws {
    let policy = try Policy(rules: [
      Rule(name: "a", kind: hours("13:00-15:00")), Rule(name: "b", kind: hours("14:30-16:00")),
      Rule(name: "c", mode: .audit, kind: hours("20:00-21:00")),
    ])
    let denial = policy.decide(.request(at: noon), states: FetchedStates()).denial
    #expect(denial?.nextOpen == Instant(seconds: noon.seconds + 9000) && denial?.retryAfter == 9000)
    let apart = try Policy(rules: [
      Rule(name: "a", kind: hours("13:00-15:00")), Rule(name: "b", kind: hours("15:00-16:00")),
    ])
    let never = apart.decide(.request(at: noon), states: FetchedStates()).denial
    #expect(never?.code == .closed && never?.nextOpen == nil && never?.retryAfter == nil)
  }

  @Test func `scope, mode and action decide whether a rule is asked`() throws {
    let closed = try hours("00:00-01:00")
    let policy = try Policy(rules: [
      Rule(name: "other-caller", callers: ["web", "tv"], kind: closed),
      Rule(name: "other-app", apps: ["shop"], kind: closed),
      Rule(name: "callbacks", actions: [.callback], kind: closed),
      Rule(name: "off", mode: .off, kind: closed), Rule(name: "audit", mode: .audit, kind: closed),
      Rule(name: "phone", kind: rate(1, .phone)),
      Rule(name: "numbers", kind: .numbers(NumbersRule(allow: ["+1"]))),
      Rule(name: "mine", apps: ["demo"], callers: ["ios-app"], kind: hours("00:00-24:00")),
    ])
    var facts = Facts.request(at: noon)
    facts.appID = "demo"
    let decision = policy.decide(facts, states: FetchedStates())
    #expect(
      words(decision) == [
        "other-caller skipped", "other-app skipped", "callbacks skipped", "off skipped", "audit would_deny",
        "phone skipped", "numbers skipped", "mine allow",
      ])
    #expect(decision.audited.map(\.code) == [.closed])
    facts.callerID = "tv"
    #expect(policy.decide(facts, states: FetchedStates()).denial?.rule == "other-caller")
    facts.callerID = nil
    let anonymous = try Policy(rules: [Rule(name: "a", callers: ["anonymous"], kind: closed)])
    #expect(anonymous.decide(facts, states: FetchedStates()).denial?.rule == "a")
  }

  @Test func `rules recognise hundreds of callers`() throws {
    let policy = try Policy(
      rules: (0..<200).map { try Rule(name: "r\($0)", callers: ["caller-\($0)"], kind: hours("00:00-01:00")) }
    )
    for caller in [0, 63, 64, 127, 128, 199] {
      let decision = policy.decide(.request(caller: "caller-\(caller)", at: noon), states: FetchedStates())
      #expect(decision.denial?.rule == "r\(caller)")
    }
    #expect(policy.decide(.request(caller: "caller-200", at: noon), states: FetchedStates()).denial == nil)
  }

  @Test func `the built-in rule holds beside audit and out-of-scope opt-outs, and yields to an enforced one`()
    throws
  {
    let optOut = try NumbersRule(refusesDefaultRanges: false)
    var facts = Facts.request(.callback)
    facts.phone = try E164("+19002123456")
    for rule in try [
      Rule(name: "a", mode: .audit, kind: .numbers(optOut)),
      Rule(name: "a", mode: .off, kind: .numbers(optOut)),
      Rule(name: "a", callers: ["other"], kind: .numbers(optOut)),
      Rule(name: "a", actions: [.access], kind: .numbers(optOut)),
    ] {
      let decision = try Policy(rules: [rule]).decide(facts, states: FetchedStates())
      #expect(decision.denial?.rule == "default-numbers")
    }
    let decision = try Policy(rules: [Rule(name: "a", kind: .numbers(optOut))]).decide(
      facts, states: FetchedStates())
    #expect(words(decision) == ["a allow"])
    let strict = try Policy(rules: [Rule(name: "a", kind: .numbers(NumbersRule()))])
    #expect(strict.decide(facts, states: FetchedStates()).denial?.rule == "a")
  }

  @Test func `allowances are taken only when the whole decision is allow, and refusals cost nothing`() throws
  {
    let states = TestStates()
    let policy = try Policy(rules: [
      Rule(name: "wide", kind: rate(3)), Rule(name: "narrow", kind: rate(1, .subject)),
    ])
    var facts = Facts.request(at: noon)
    facts.subject = "ann"
    let first = policy.settle(facts, states)
    #expect(first.grant?.statuses.map(\.count.remaining) == [2, 0])
    for _ in 0..<5 {
      let refused = policy.settle(facts, states).decision
      #expect(refused.denial?.rule == "narrow" && refused.denial?.code == .rateLimited)
      #expect(refused.denial?.retryAfter == 60 && refused.denial?.status?.count.remaining == 0)
    }
    facts.subject = "bob"
    #expect(policy.settle(facts, states).grant?.statuses.map(\.count.remaining) == [1, 0])
  }

  @Test func `given back, an allowance is there again`() throws {
    let states = TestStates()
    let policy = try Policy(rules: [Rule(name: "one", kind: rate(1))])
    let grant = try #require(policy.settle(.request(at: noon), states).grant)
    #expect(policy.settle(.request(at: noon), states).grant == nil)
    states.giveBack(grant.receipts, at: noon)
    #expect(policy.settle(.request(at: noon), states).grant != nil)
  }

  @Test func `who was slower to take is refused, by the rule and with the state that was found`() throws {
    let states = TestStates()
    let policy = try Policy(rules: [
      Rule(name: "wide", kind: rate(3)), Rule(name: "narrow", kind: rate(1, .global)),
      Rule(name: "last", kind: hours("00:00-24:00")),
    ])
    let facts = Facts.request(at: noon)
    let slow = policy.decide(facts, states: states)
    #expect(policy.settle(facts, states).grant != nil)
    guard case .allow(let clearance) = slow.outcome else {
      Issue.record("it was allowed when it was asked")
      return
    }
    let (decision, grant) = slow.settled(states.take(clearance.charges, at: noon), at: noon).parts()
    #expect(grant == nil)
    #expect(words(decision) == ["wide allow", "narrow deny", "last skipped"])
    #expect(decision.denial?.code == .rateLimited && decision.denial?.retryAfter == 60)
    let wide = AllowanceKey(rule: "wide", party: .caller("ios-app"))
    #expect(
      policy.statuses(for: facts, states: states).first?.count.remaining == 2, "\(wide) is charged once")
  }

  @Test func `an audit rule counts its own allowance as if enforced and refuses nothing`() throws {
    let states = TestStates()
    let policy = try Policy(rules: [Rule(name: "trial", mode: .audit, kind: rate(2))])
    var seen: [String] = []
    for _ in 0..<4 {
      let (decision, grant) = policy.settle(.request(at: noon), states)
      #expect(grant != nil && grant?.statuses.isEmpty == true)
      seen += decision.verdicts.map(\.verdict.word)
    }
    #expect(seen == ["allow", "allow", "would_deny", "would_deny"])
  }

  @Test func `a store that fails denies, unless the rule says otherwise`() throws {
    let states = TestStates()
    states.isDown = true
    let strict = try Policy(rules: [
      Rule(name: "a", kind: rate(5, failing: .allow)), Rule(name: "b", kind: rate(5)),
    ])
    let denial = strict.decide(.request(at: noon), states: states).denial
    #expect(denial?.code == .storeUnavailable && denial?.rule == "b" && (denial?.retryAfter ?? 0) > 0)
    let lenient = try Policy(rules: [Rule(name: "a", kind: rate(5, failing: .allow))])
    let decision = lenient.decide(.request(at: noon), states: states)
    guard case .allow(let clearance) = decision.outcome else {
      Issue.record("on_store_failure: allow denied")
      return
    }
    #expect(clearance.charges.isEmpty)
    // The same if the store fails only when it takes the allowance.
    states.isDown = false
    #expect(
      strict.decide(.request(at: noon), states: states).settled(.unavailable, at: noon).parts().decision
        .denial?.rule
        == "b")
    #expect(
      lenient.decide(.request(at: noon), states: states).settled(.unavailable, at: noon).parts().grant != nil)
  }

  @Test func `rows that strangers could fill a store with are deleted when their period ends`() throws {
    var facts = Facts.request(.callback)
    facts.phone = try E164("+14155550123")
    facts.instant = try at("2026-12-01T12:00:00Z")
    let daily = try Quota(limit: 5, period: .day)
    let rules = try AllowanceScope.allCases.map {
      try Rule(name: $0.rawValue, kind: .quota(daily, key: $0, onStoreFailure: .deny))
    }
    for charge in try Policy(rules: rules).charges(for: facts) {
      let kept = charge.plan.expiry(of: try #require(charge.plan.state(used: 1, at: facts.instant)))
      let byStrangers = ["address", "phone"].contains(charge.key.rule)
      #expect(kept == (try at(byStrangers ? "2026-12-03T00:00:00Z" : "2027-01-02T00:00:00Z")).seconds)
    }
  }

  @Test func `parties have counts of their own, and unknown ones share one`() throws {
    var facts = Facts.request(.callback)
    facts.phone = try E164("+14155550123")
    let rules = try AllowanceScope.allCases.map { try Rule(name: $0.rawValue, kind: rate(5, $0)) }
    let policy = try Policy(rules: rules)
    func parties() -> [String] { policy.charges(for: facts).map(\.key.partyText) }
    #expect(
      parties() == [
        "caller:ios-app", "subject:ios-app", "subject:ios-app", "unknown", "address:203.0.113.9",
        "phone:+14155550123", "global",
      ])
    facts.callerID = nil
    facts.appID = "shop"
    facts.address = IPAddress("2001:db8:1:2:3::4")
    #expect(
      parties()[..<5] == [
        "caller:anonymous", "subject:anonymous", "subject:anonymous", "app:shop", "address:2001:db8:1:2::",
      ])
    facts.callerID = "app-users"
    facts.subject = "ann"
    #expect(parties()[1] == "subject:app-users\u{0}ann")
    // A user of one issuer is neither a user of another issuer nor a caller with that name.
    facts.subject = "ios-app"
    #expect(parties()[1] == "subject:app-users\u{0}ios-app")
    facts.callerID = "other-users"
    #expect(parties()[1] == "subject:other-users\u{0}ios-app")
  }

  @Test
  func `a user and each of the user's installations are one subject, and installations count by themselves`()
    throws
  {
    let rules = try [AllowanceScope.caller, .subject, .installation].map {
      try Rule(name: $0.rawValue, kind: rate(5, $0))
    }
    let policy = try Policy(rules: rules)
    var facts = Facts.request(.callback)
    facts.callerID = "installation"
    facts.subject = "ann"
    facts.installation = InstallationFacts(id: "5e9d", callerID: "app-users")
    #expect(
      policy.charges(for: facts).map(\.key.partyText) == [
        "caller:installation", "subject:app-users\u{0}ann", "installation:5e9d",
      ])
    // An installation that an operator approved has no user.
    facts.subject = "5e9d"
    facts.installation = InstallationFacts(id: "5e9d", callerID: nil)
    #expect(policy.charges(for: facts).map(\.key.partyText)[1] == "subject:installation\u{0}5e9d")
  }

  @Test func `claims are compared by text, lists by any element, names with dots also as paths`() throws {
    func allows(_ claims: [FactMember], _ require: [(String, [String])]) throws -> Bool {
      let rule = try Rule(
        name: "c", kind: .claims(ClaimsRule(require: require.map { (claim: $0, accepted: $1) })))
      var facts = Facts.request()
      facts.claims = claims
      return try Policy(rules: [rule]).decide(facts, states: FetchedStates()).denial == nil
    }
    let claims = [
      FactMember("tier", .string("gold")), FactMember("level", .number("5")), FactMember("beta", .bool(true)),
      FactMember("groups", .array([.string("a"), .number("7"), .array([.string("nested")])])),
      FactMember("realm", .object([FactMember("roles", .array([.string("admin")]))])),
      FactMember("https://shop.example/tier", .string("silver")), FactMember("empty", .null),
    ]
    #expect(try allows(claims, [("tier", ["gold", "platinum"]), ("level", ["5"]), ("beta", ["true"])]))
    #expect(try allows(claims, [("groups", ["7"])]) && allows(claims, [("groups", ["a"])]))
    #expect(try allows(claims, [("realm.roles", ["admin"])]))
    #expect(try allows(claims, [("https://shop.example/tier", ["silver"])]))
    for denied in [
      ("tier", "Gold"), ("tier", "gol"), ("level", "5.0"), ("beta", "1"), ("missing", "x"),
      ("groups", "nested"),
      ("realm", "admin"), ("realm.users", "admin"), ("tier.x", "gold"), ("empty", "null"), ("empty", ""),
    ] {
      #expect(try !allows(claims, [(denied.0, [denied.1])]), "\(denied)")
    }
    #expect(try !allows(claims, [("tier", ["gold"]), ("level", ["6"])]))
    for twins in equivalentNames {
      let claims = [
        FactMember(twins[0], .string("x")), FactMember("name", .string(twins[0])),
        FactMember("realm", .object([FactMember(twins[0], .string("x"))])),
      ]
      for (place, name) in twins.enumerated() {
        #expect(try allows(claims, [(name, ["x"])]) == (place == 0))
        #expect(try allows(claims, [("realm.\(name)", ["x"])]) == (place == 0))
        #expect(try allows(claims, [("name", [name])]) == (place == 0))
      }
    }
    #expect(throws: Refusal.self) { try ClaimsRule(require: []) }
  }

  @Test(arguments: ["scope", "scp"]) func `a text of scopes is a list with spaces between them`(claim: String)
    throws
  {
    let rule = try ClaimsRule(require: [(claim, ["callback", "admin"])])
    for accepted in ["callback", "openid callback", "callback  openid", " admin "] {
      #expect(rule.allows([FactMember(claim, .string(accepted))]), "\(accepted)")
    }
    for refused in [
      "", "openid", "callbacks", "call back", "Callback", "openid\tcallback", "openid,callback",
    ] {
      #expect(!rule.allows([FactMember(claim, .string(refused))]), "\(refused)")
    }
    #expect(rule.allows([FactMember(claim, .array([.string("openid"), .string("callback")]))]))
    // An element of a list is one scope.
    #expect(!rule.allows([FactMember(claim, .array([.string("openid callback")]))]))
    // A claim with another name is one text, even if it contains spaces.
    let other = try ClaimsRule(require: [("realm.\(claim)", ["callback"])])
    let realm = FactMember("realm", .object([FactMember(claim, .string("openid callback"))]))
    #expect(!other.allows([realm]))
    #expect(throws: Refusal.self) { try ClaimsRule(require: [(claim, ["openid callback"])]) }
    #expect(throws: Never.self) { try ClaimsRule(require: [("title", ["Dr. med."])]) }
  }

  @Test(arguments: [
    ("2.3.0", true), ("2.3", true), ("2.10.0", true), ("3", true), ("2.3.0.0", true), ("02.03.00", true),
    ("2.2.99", false), ("2", false), ("1.9", false), ("", false), ("2.3.0-beta", false), ("v2.3.0", false),
    ("2..3", false), ("2.3.", false), (".2.3", false), ("9.x", false), ("2.3.0 ", false), ("+3", false),
    // At most 18 digits per number, and 64 bytes in all.
    ("9999999999999999999", false), ("3.9999999999999999999", false), ("3.999999999999999999", true),
    ("3" + String(repeating: ".0", count: 31) + "0", true),
    ("3" + String(repeating: ".0", count: 31) + "00", false),
  ])
  func `a version is compared number by number, and anything else is denied`(
    _ version: String, _ allowed: Bool
  ) throws {
    let rule = try Rule(
      name: "v", kind: .field(FieldRule(field: "X-App-Version", requirement: .atLeast("2.3.0"))))
    let policy = try Policy(rules: [rule])
    #expect(policy.fieldNames == ["x-app-version"])
    var facts = Facts.request()
    facts.fields = [
      RequestField(name: "X-APP-Version", value: version), RequestField(name: "other", value: "1"),
    ]
    #expect((policy.decide(facts, states: FetchedStates()).denial == nil) == allowed)
  }

  @Test func `a missing field and one that stands there twice are denied`() throws {
    let policy = try Policy(rules: [
      Rule(name: "f", kind: .field(FieldRule(field: "X-Platform", requirement: .oneOf(["ios", "android"]))))
    ])
    var facts = Facts.request()
    func allowed() -> Bool { policy.decide(facts, states: FetchedStates()).denial == nil }
    #expect(!allowed())
    facts.fields = [RequestField(name: "x-platform", value: "ios")]
    #expect(allowed())
    facts.fields.append(RequestField(name: "x-platform", value: "ios"))
    #expect(!allowed())
    facts.fields = [RequestField(name: "x-platform", value: "web")]
    #expect(!allowed())
  }

  @Test func `a remote policy is asked in its turn with what is known, and decides`() throws {
    let remote = try RemoteRule(url: "https://p.example/v1/data/callgate/allow")
    let policy = try Policy(rules: [
      Rule(name: "before", kind: rate(1)), Rule(name: "fraud", kind: .remote(remote)),
      Rule(name: "after", kind: hours("00:00-24:00")),
    ])
    #expect(policy.asksRemotes)
    var facts = Facts.request(.callback, at: noon)
    facts.phone = try E164("+14155550123")
    facts.claims = [FactMember("tier", .string("gold"))]
    var evaluation = policy.evaluation(of: facts)
    guard case .asks(let query) = evaluation.next(FetchedStates()) else {
      Issue.record("the remote policy was not asked")
      return
    }
    let input = query.document["input"]
    #expect(query.rule == "fraud" && input?["action"] == .string("callback") && input?["app"] == nil)
    #expect(input?["phone"] == .string("+14155550123") && input?["claims"]?["tier"] == .string("gold"))
    #expect(input?["time"] == .string("2026-11-18T12:00:00Z") && input?["address"] == .string("203.0.113.9"))
    #expect(input?["installation"] == nil && input?["owner"] == nil)
    evaluation.answer(.deny(reason: "known fraud"))
    guard case .decided(let decision) = evaluation.next(FetchedStates()) else {
      Issue.record("nothing is outstanding")
      return
    }
    #expect(words(decision) == ["before allow", "fraud deny", "after skipped", "default-numbers skipped"])
    #expect(decision.denial == Denial(code: .denied, rule: "fraud", answer: .deny(reason: "known fraud")))
    #expect(policy.decide(facts, states: FetchedStates(), remote: { _ in .allow }).denial == nil)
    #expect(policy.decide(facts, states: FetchedStates()).denial?.rule == "fraud", "no answer denies")
    let lenient = try RemoteRule(url: "http://127.0.0.1:8181/x", onFailure: .allow)
    let open = try Policy(rules: [Rule(name: "fraud", kind: .remote(lenient))])
    #expect(open.decide(facts, states: FetchedStates()).denial == nil)
  }

  @Test func `a remote policy can tell installations of two issuers' equal subjects apart`() {
    var facts = Facts.request(.callback, at: noon)
    facts.callerID = Facts.installationCaller
    facts.subject = "ann"
    facts.installation = InstallationFacts(id: "6f1c3d52", callerID: "customers")
    #expect(facts.document["caller"] == .string("installation"))
    #expect(facts.document["subject"] == .string("ann") && facts.document["owner"] == .string("customers"))
    #expect(facts.document["installation"] == .string("6f1c3d52"))
    facts.installation = InstallationFacts(id: "6f1c3d52", callerID: nil)
    #expect(facts.document["installation"] == .string("6f1c3d52") && facts.document["owner"] == nil)
  }

  @Test func `answers are read bare and under result, and anything unclear decides nothing`() {
    func object(_ members: (String, FactValue)...) -> FactValue {
      .object(members.map { FactMember($0.0, $0.1) })
    }
    let cases: [(FactValue, RemoteAnswer)] = [
      (.bool(true), .allow), (.bool(false), .deny(reason: nil)), (object(("result", .bool(true))), .allow),
      (object(("allow", .bool(true))), .allow),
      (object(("allow", .bool(false)), ("reason", .string("no"))), .deny(reason: "no")),
      (object(("result", object(("allow", .bool(false)), ("reason", .string("no"))))), .deny(reason: "no")),
      (object(), .undecided), (.null, .undecided), (.string("true"), .undecided), (.number("1"), .undecided),
      (object(("allow", .string("true"))), .undecided), (object(("result", object())), .undecided),
      (object(("result", .bool(true)), ("allow", .bool(false))), .undecided),
      (object(("result", object(("result", .bool(true))))), .undecided), (.array([.bool(true)]), .undecided),
    ]
    for (document, answer) in cases { #expect(RemoteAnswer(reading: document) == answer, "\(document)") }
  }

  @Test(arguments: [
    "http://policy.example/x", "ftp://policy.example", "https://", "https://user@policy.example/",
    "policy.example",
    "http://127.0.0.1.example.com/", "http://127.0.0.1@policy.example/", "https://h:port/",
    "https://h:70000/",
    "https://policy.example/#x", "http://localhost.example/", "https://[::1/", "https://policy.example/a b",
  ])
  func `a policy elsewhere is asked over https only, at an address that is one`(_ url: String) {
    #expect(throws: Refusal.self) { try RemoteRule(url: url) }
  }

  @Test(arguments: [
    "http://127.0.0.1:8181/v1/data/x", "http://localhost/", "http://[::1]:80/",
    "https://policy.example:8443/x?y=z",
  ])
  func `https, and http on this machine, are taken`(_ url: String) throws {
    #expect(try RemoteRule(url: url).url == url)
  }

  @Test func `availability takes all schedules together`() throws {
    let policy = try Policy(rules: [
      Rule(name: "a", kind: hours("09:00-15:00")),
      Rule(name: "b", actions: [.callback], kind: hours("12:30-18:00")),
    ])
    let callback = policy.availability(of: .callback, callerID: nil, appID: nil, at: noon)
    #expect(!callback.isOpen && callback.nextChange == Instant(seconds: noon.seconds + 1800))
    #expect(
      callback.windows.count == 7 && callback.windows[0].end == Instant(seconds: noon.seconds + 3 * 3600))
    let access = policy.availability(of: .access, callerID: nil, appID: nil, at: noon)
    #expect(access.isOpen && access.nextChange == Instant(seconds: noon.seconds + 3 * 3600))
    #expect(access.windows.first?.start == noon)
    let always = Policy.open.availability(of: .access, callerID: nil, appID: nil, at: noon)
    #expect(always.isOpen && always.nextChange == nil && always.windows.count == 1)
  }

  @Test(arguments: [
    "", "-", "a b", "default-numbers", "built-in.enrolments", "é", "-a", String(repeating: "a", count: 65),
    "a\"b",
  ])
  func `a name that cannot be printed everywhere is refused`(_ name: String) {
    #expect(throws: Refusal.self) { try Rule(name: name, kind: .numbers(NumbersRule())) }
  }

  @Test func `two rules of one name are refused`() throws {
    let rule = try Rule(name: "a", kind: .numbers(NumbersRule()))
    #expect(throws: Refusal.self) { try Policy(rules: [rule, rule]) }
  }
}
