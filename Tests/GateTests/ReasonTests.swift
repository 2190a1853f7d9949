// Tests of the sentences that explain each rule's verdict to operators.

import Documents
import Gate
import Platform
import Testing

/// The reason that each kind of rule gives for its verdict.
struct ReasonTests {
  private func policy(_ rules: DocumentNode...) throws -> Policy {
    let reading = Policy.reading(DocumentNode(.list(rules)))
    return try #require(reading.policy, "\(reading.problems)")
  }

  /// A callback at 12:00 on Wednesday, 2026-11-18 (UTC).
  private func callback(_ number: String? = "+14155550100", at time: String = "2026-11-18T12:00:00Z") throws
    -> Facts
  {
    var facts = Facts.request(.callback, at: try at(time))
    facts.phone = try number.map { try E164($0) }
    return facts
  }

  private func reasons(
    _ policy: Policy, _ facts: Facts, states: some AllowanceStates = FetchedStates(),
    remote: RemoteAnswer = .allow
  ) -> [RuleReason] {
    policy.decide(facts, states: states, remote: { _ in remote }).reasons(of: facts, states: states)
  }

  /// The reason of the first rule.
  private func reason(
    _ rule: DocumentNode, _ facts: Facts, states: some AllowanceStates = FetchedStates(),
    remote: RemoteAnswer = .allow
  ) throws -> String {
    reasons(try policy(rule), facts, states: states, remote: remote)[0].text
  }

  // MARK: Hours

  private static let hours: DocumentNode = [
    "name": "opening-hours", "kind": "hours", "timezone": "America/New_York",
    "weekly": ["mon-fri": ["09:00-12:00", "13:00-18:00"], "sat": "22:00-02:00"], "closed": ["2026-12-25"],
    "open": ["2026-12-24": "09:00-12:00"],
  ]

  @Test(arguments: [
    (
      "2026-11-23T10:00:00-05:00",
      "Monday 2026-11-23 10:00 in America/New_York is within 09:00-12:00, closes Monday 2026-11-23 12:00 (2026-11-23T17:00:00Z)"
    ),
    (
      "2026-11-22T05:00:00Z",
      "Sunday 2026-11-22 00:00 in America/New_York is within 22:00-02:00, closes Sunday 2026-11-22 02:00 (2026-11-22T07:00:00Z)"
    ),
    (
      "2026-11-23T08:59:59-05:00",
      "Monday 2026-11-23 08:59:59 in America/New_York is outside of 09:00-12:00 or 13:00-18:00; opens Monday 2026-11-23 09:00 (2026-11-23T14:00:00Z)"
    ),
    (
      "2026-11-22T10:00:00-05:00",
      "Sunday 2026-11-22 10:00 in America/New_York is a day without opening hours; opens Monday 2026-11-23 09:00 (2026-11-23T14:00:00Z)"
    ),
    (
      "2026-12-25T10:00:00-05:00",
      "Friday 2026-12-25 10:00 in America/New_York is a closed date; opens Saturday 2026-12-26 22:00 (2026-12-27T03:00:00Z)"
    ),
    (
      "2026-12-24T14:00:00-05:00",
      "Thursday 2026-12-24 14:00 in America/New_York is outside of 09:00-12:00, the hours of this date; opens Saturday 2026-12-26 22:00 (2026-12-27T03:00:00Z)"
    ),
    (
      "2100-01-01T00:00:00Z",
      "the time is outside the years 1970 to 2099 of the time zone data"
    ),
  ])
  func `hours: local time, window, and the next change`(time: String, text: String) throws {
    #expect(try reason(Self.hours, callback(at: time)) == text)
  }

  @Test func `hours that exclude each other never open`() throws {
    let policy = try policy(
      ["name": "a", "kind": "hours", "timezone": "UTC", "weekly": ["mon-sun": "09:00-10:00"]],
      ["name": "b", "kind": "hours", "timezone": "UTC", "weekly": ["mon-sun": "10:00-11:00"]])
    #expect(
      reasons(policy, try callback())[0].text
        == "Wednesday 2026-11-18 12:00 in UTC is outside of 09:00-10:00; never opens again")
  }

  // MARK: Numbers

  @Test(arguments: [
    ("+14155550100", "+*********00 begins with +1, which is allowed"),
    ("+12425550100", "+*********00 begins with +1242, which is denied"),
    ("+442079460000", "+**********00 begins with none of the allowed prefixes"),
    ("+19005550100", "+*********00 begins with +1900, a range that is refused by default"),
    ("+99912345678", "+*********78 is in no numbering plan, so no phone can have it"),
    // The whole number is a prefix of itself, and stays hidden.
    ("+14155550123", "+*********23 begins with +14155******, which is denied"),
  ])
  func `numbers: the prefix that decided`(number: String, text: String) throws {
    let rule: DocumentNode = [
      "name": "countries", "kind": "numbers", "allow": ["+1", "+351"], "deny": ["+1242", "+14155550123"],
    ]
    #expect(try reason(rule, callback(number)) == text)
  }

  @Test func `numbers: without a number, without a list`() throws {
    let deny: DocumentNode = ["name": "n", "kind": "numbers", "deny": ["+1242"]]
    let allow: DocumentNode = ["name": "n", "kind": "numbers", "allow": ["+1"]]
    #expect(try reason(deny, callback(nil)) == "no number is given")
    #expect(try reason(allow, callback(nil)) == "no number is given, and only listed ones are allowed")
    #expect(try reason(deny, callback()) == "+*********00 is in no refused range")
    let builtIn = reasons(.open, try callback("+19005550100"))
    #expect(builtIn.map(\.text) == ["+*********00 begins with +1900, a range that is refused by default"])
    #expect(reasons(.open, try callback()).map(\.text) == ["+*********00 is in no refused range"])
    let short = reasons(.open, try callback("+351112"))
    #expect(short.map(\.text) == ["+****12 is too short for a number of its country"])
  }

  // MARK: Addresses, claims, headers

  @Test(arguments: [
    ("203.0.113.9", "203.0.113.9 is in 203.0.113.0/24, which is allowed"),
    ("203.0.113.200", "203.0.113.200 is in 203.0.113.128/25, which is denied"),
    ("198.51.100.7", "198.51.100.7 is in none of the allowed networks"),
    (nil, "the client's address is unknown"),
  ])
  func `addresses: the network that decided`(address: String?, text: String) throws {
    var facts = Facts.request()
    facts.address = address.flatMap { IPAddress($0) }
    let rule: DocumentNode = [
      "name": "office", "kind": "addresses", "allow": ["203.0.113.0/24"], "deny": ["203.0.113.128/25"],
    ]
    #expect(try reason(rule, facts) == text)
    let block: DocumentNode = ["name": "abuse", "kind": "addresses", "deny": ["192.0.2.0/24"]]
    facts.address = IPAddress("203.0.113.9")
    #expect(try reason(block, facts) == "203.0.113.9 is in none of the denied networks")
  }

  @Test(
    arguments: [
      ([], #"claim "tier" is missing; "gold" or "platinum" is required"#),
      (
        [FactMember("tier", .string("silver"))],
        #"claim "tier" is "silver"; "gold" or "platinum" is required"#
      ),
      (
        [FactMember("tier", .string("gold"))],
        #"claim "realm.roles" is missing; "call" is required"#
      ),
      (
        [
          FactMember("tier", .array([.string("gold"), .number("1"), .bool(true), .null, .object([])])),
          FactMember("realm", .object([FactMember("roles", .array([.string("call")]))])),
        ],
        #"claim "tier" is ["gold", 1, true, null, an object], claim "realm.roles" is ["call"]"#
      ),
      (
        [FactMember("tier", .string("call +1 415 555 0123\u{1B}[2J\u{202E}"))],
        #"claim "tier" is "call +* *** *** **23<U+001B>[2J<U+202E>"; "gold" or "platinum" is required"#
      ),
    ] as [([FactMember], String)])
  func `claims: what was found and what is required`(claims: [FactMember], text: String) throws {
    var facts = Facts.request()
    facts.claims = claims
    let rule: DocumentNode = [
      "name": "paying", "kind": "claims", "require": ["tier": ["gold", "platinum"], "realm.roles": "call"],
    ]
    #expect(try reason(rule, facts) == text)
  }

  @Test func `headers: what was found and what is required`() throws {
    func reason(_ requirement: (String, DocumentNode), _ values: String...) throws -> String {
      var facts = Facts.request()
      facts.fields = values.map { RequestField(name: "X-V", value: $0) }
      let rule = DocumentNode(
        .mapping([
          .init("name", "v"), .init("kind", "field"), .init("field", "X-V"),
          .init(requirement.0, requirement.1),
        ]))
      return try self.reason(rule, facts)
    }
    let atLeast: (String, DocumentNode) = ("at_least", "2.3.0")
    #expect(try reason(atLeast) == "header x-v is missing; 2.3.0 or later is required")
    #expect(try reason(atLeast, "2.2.9") == "header x-v is 2.2.9; 2.3.0 or later is required")
    #expect(try reason(atLeast, "new") == #"header x-v is "new", not a version; 2.3.0 or later is required"#)
    #expect(
      try reason(atLeast, "2.4", "2.4")
        == "header x-v occurs 2 times, so the rule uses none of them; 2.3.0 or later is required")
    #expect(try reason(("equals", "a"), "b") == #"header x-v is "b"; "a" is required"#)
    #expect(try reason(("in", ["a", "b"]), "b") == #"header x-v is "b"; "a" or "b" is required"#)
    let many: DocumentNode = ["1", "2", "3", "4", "5", "6", "7"]
    #expect(
      try reason(("in", many), "b") == #"header x-v is "b"; "1", "2", "3", "4", "5" or 2 more is required"#)
  }

  // MARK: Allowances

  @Test func `quota: the count against the limit, and the next period`() throws {
    let rule: DocumentNode = [
      "name": "daily", "kind": "quota", "key": "phone", "limit": "5", "per": "day",
      "timezone": "Europe/Lisbon",
    ]
    let policy = try policy(rule)
    let facts = try callback()
    func text(_ used: Int64) throws -> String {
      reasons(
        policy, facts, states: try CountedStates(policy: policy, counts: ["daily": used], at: facts.instant))[
          0
        ].text
    }
    #expect(try text(0) == "0 of 5 used by +*********00 this day (Europe/Lisbon)")
    #expect(try text(4) == "4 of 5 used by +*********00 this day (Europe/Lisbon)")
    #expect(
      try text(5)
        == "5 of 5 used by +*********00 this day (Europe/Lisbon); the next day begins Thursday 2026-11-19 00:00 (2026-11-19T00:00:00Z)"
    )
  }

  @Test func `rate: the count against the burst, and the next one`() throws {
    let policy = try policy(
      ["name": "slow", "kind": "rate", "key": "caller", "limit": "30", "per": "1m", "burst": "10"])
    let facts = try callback()
    func text(_ used: Int64) throws -> String {
      reasons(
        policy, facts, states: try CountedStates(policy: policy, counts: ["slow": used], at: facts.instant))[
          0
        ].text
    }
    #expect(try text(9) == "9 of 10 at once used by caller ios-app, at 30 per 1m")
    #expect(try text(10) == "10 of 10 at once used by caller ios-app, at 30 per 1m; the next is free in 2 s")
  }

  @Test(arguments: [
    ("caller", "caller ios-app"), ("subject", #"subject "tel:+*********23" of caller ios-app"#),
    ("app", "app shop"),
    ("address", "2001:db8::/64"), ("phone", "+*********00"), ("global", "all callers"),
  ])
  func `allowances name who uses them`(key: String, words: String) throws {
    var facts = try callback()
    facts.subject = "tel:+14155550123"
    facts.appID = "shop"
    facts.address = IPAddress("2001:db8::5")
    let rule: DocumentNode = [
      "name": "daily", "kind": "quota", "key": DocumentNode(.text(key)), "limit": "5", "per": "week",
    ]
    #expect(try reason(rule, facts) == "0 of 5 used by \(words) this week (UTC)")
  }

  @Test func `allowances of what a request lacks are counted together`() throws {
    for (key, words) in [("app", "an app"), ("address", "a known address"), ("phone", "a number")] {
      var facts = try callback(nil)
      facts.address = nil
      let rule: DocumentNode = [
        "name": "daily", "kind": "quota", "key": DocumentNode(.text(key)), "limit": "5", "per": "month",
      ]
      #expect(try reason(rule, facts) == "0 of 5 used by requests without \(words) this month (UTC)")
    }
    let caller: DocumentNode = [
      "name": "daily", "kind": "quota", "key": "subject", "limit": "5", "per": "day",
    ]
    #expect(try reason(caller, .request()) == "0 of 5 used by caller ios-app this day (UTC)")
  }

  @Test(arguments: ["deny", "allow"]) func `an unavailable store is the reason`(policy: String) throws {
    let rule: DocumentNode = [
      "name": "daily", "kind": "quota", "key": "caller", "limit": "5", "per": "day",
      "on_store_failure": DocumentNode(.text(policy)),
    ]
    #expect(
      try reason(rule, callback(), states: UnavailableStates())
        == "the database is unavailable; on_store_failure is \(policy)")
  }

  // MARK: Remote policies

  @Test func `a policy's refusal differs from a policy without a response`() throws {
    let rule: DocumentNode = ["name": "fraud", "kind": "remote", "url": "https://policy.example/"]
    let lenient: DocumentNode = [
      "name": "fraud", "kind": "remote", "url": "https://policy.example/", "on_failure": "allow",
    ]
    let facts = try callback()
    #expect(try reason(rule, facts, remote: .allow) == "the policy allows it")
    #expect(try reason(rule, facts, remote: .deny(reason: nil)) == "the policy refuses it")
    #expect(
      try reason(rule, facts, remote: .deny(reason: "risk of +14155550100\u{1B}"))
        == #"the policy refuses it: "risk of +*********00<U+001B>""#)
    #expect(
      try reason(rule, facts, remote: .failed(because: "its server cannot be reached"))
        == "the policy gave no decision: its server cannot be reached; on_failure is deny")
    #expect(
      try reason(lenient, facts, remote: .undecided)
        == "the policy gave no decision: its response is neither true nor false; on_failure is allow")
    let denial = try #require(try policy(rule).decide(facts, states: FetchedStates()).denial)
    #expect(denial.reason == "the policy gave no decision: it got no query")
  }

  // MARK: Rules that were not evaluated

  @Test func `rules that do not apply differ from rules that were not reached`() throws {
    let quota: (String) -> [DocumentNode.Member] = {
      [
        .init("name", DocumentNode(.text($0))), .init("kind", "quota"), .init("key", "global"),
        .init("limit", "5"),
        .init("per", "day"),
      ]
    }
    func rule(_ name: String, _ more: DocumentNode.Member...) -> DocumentNode {
      DocumentNode(.mapping(quota(name) + more))
    }
    let policy = try policy(
      rule("off", .init("mode", "off")), rule("tokens", .init("on", "access")),
      rule("others", .init("callers", ["partner", "kiosk"])), rule("shop", .init("apps", ["shop"])),
      ["name": "closed", "kind": "addresses", "allow": ["192.0.2.0/24"]], rule("later"),
      rule("later-others", .init("callers", ["partner"])))
    let facts = try callback()
    let found = reasons(policy, facts)
    #expect(
      found.map(\.skip) == [
        .notApplicable, .notApplicable, .notApplicable, .notApplicable, nil, .notReached, .notApplicable,
        .notReached,
      ])
    #expect(
      found.map(\.text) == [
        "the rule is off", "it applies only to access", "it applies only to callers partner or kiosk",
        "it applies only to app shop", "203.0.113.9 is in none of the allowed networks",
        "closed refused the request", "it applies only to caller partner", "closed refused the request",
      ])
  }

  @Test func `a policy in audit mode that has no place for a query was not reached`() throws {
    let policy = try policy([
      "name": "fraud", "kind": "remote", "url": "https://policy.example/", "mode": "audit",
    ])
    let facts = Facts.request()
    var evaluation = policy.evaluation(of: facts)
    guard case .asks = evaluation.next(FetchedStates()) else {
      Issue.record("nothing was asked")
      return
    }
    evaluation.skip()
    guard case .decided(let decision) = evaluation.next(FetchedStates()) else {
      Issue.record("nothing was decided")
      return
    }
    #expect(
      decision.reasons(of: facts, states: FetchedStates())
        == [RuleReason(skip: .notReached, text: "too many queries wait for the policy")])
  }

  // MARK: For a log

  @Test func `the log's reason holds no value of a claim or a header`() throws {
    var facts = try callback()
    facts.claims = [FactMember("tier", .string("canary-value"))]
    facts.fields = [RequestField(name: "X-V", value: "canary-value")]
    let rules: [(DocumentNode, String)] = [
      (["name": "a", "kind": "claims", "require": ["tier": "gold"]], #"claim "tier" has no accepted value"#),
      (
        ["name": "a", "kind": "field", "field": "X-V", "equals": "canary"], "header x-v has no accepted value"
      ),
      (["name": "a", "kind": "field", "field": "X-V", "in": ["canary"]], "header x-v has no accepted value"),
      (
        ["name": "a", "kind": "field", "field": "X-V", "at_least": "2"],
        "header x-v is not a version; 2 or later is required"
      ),
    ]
    for (rule, text) in rules {
      let policy = try policy(rule)
      let denial = try #require(policy.decide(facts, states: FetchedStates()).denial)
      #expect(policy.reason(for: denial, of: facts) == text)
    }
  }

  @Test func `the log's reason is that of the decision, also where others were faster`() throws {
    let policy = try policy(
      Self.hours, ["name": "daily", "kind": "quota", "key": "caller", "limit": "1", "per": "day"],
      ["name": "fraud", "kind": "remote", "url": "https://policy.example/"])
    func told(_ decision: Decision, _ facts: Facts) -> String? {
      decision.denial.flatMap { policy.reason(for: $0, of: facts) }
    }
    let closed = try callback(at: "2026-12-25T12:00:00Z")
    let shut = policy.decide(closed, states: FetchedStates())
    #expect(told(shut, closed) == shut.reasons(of: closed, states: FetchedStates())[0].text)
    let open = try callback(at: "2026-11-23T15:00:00Z")
    let refused = policy.decide(open, states: FetchedStates()) { _ in .deny(reason: "risk") }
    #expect(told(refused, open) == #"the policy refuses it: "risk""#)
    // Another request took the last allowance after this one's decision.
    let states = TestStates()
    let decision = policy.decide(open, states: states) { _ in .allow }
    _ = states.take(decision.charges, at: open.instant)
    let late = decision.settled(states.take(decision.charges, at: open.instant), at: open.instant).parts()
      .decision
    #expect(told(late, open)?.hasPrefix("1 of 1 used by caller ios-app this day (UTC); the next day") == true)
    let down = policy.decide(open, states: UnavailableStates()) { _ in .allow }
    #expect(told(down, open) == "the database is unavailable; on_store_failure is deny")
    let premium = try callback("+19005550100", at: "2026-11-23T15:00:00Z")
    let builtIn = policy.decide(premium, states: FetchedStates()) { _ in .allow }
    #expect(told(builtIn, premium) == "+*********00 begins with +1900, a range that is refused by default")
    #expect(policy.reason(for: Denial(code: .denied, rule: nil), of: open) == nil)
    #expect(policy.reason(for: Denial(code: .denied, rule: "gone"), of: open) == nil)
  }
}
