// Tests of the test tables that operators write for their rules.

import Documents
import Gate
import Testing

struct RuleTestsTests {
  private let now = Instant(seconds: 1_795_003_200)  // 2026-11-18T12:00:00Z, a Wednesday.

  private func policy() throws -> Policy {
    try #require(
      Policy.reading([
        [
          "name": "opening-hours", "kind": "hours", "on": "callback", "timezone": "America/New_York",
          "weekly": ["mon-fri": "09:00-18:00"],
        ],
        ["name": "per-caller", "kind": "rate", "key": "caller", "limit": "30", "per": "1m", "burst": "10"],
        ["name": "daily", "kind": "quota", "key": "subject", "limit": "5", "per": "day"],
        ["name": "paying", "kind": "claims", "callers": ["app-users"], "require": ["tier": "gold"]],
        ["name": "fraud", "kind": "remote", "on": ["callback"], "url": "https://policy.example/"],
      ]).policy)
  }

  private func failures(_ tests: DocumentNode...) throws -> [String?] {
    let context = RuleTestContext(
      known: KnownNames(callers: ["ios-app", "app-users"], apps: ["shop", "closed-shop"]), now: now
    ) { facts, owner in
      if owner == "nobody" {
        return .mistake(Refusal(at: "owner", "there is no such caller", "name another"))
      }
      return facts.appID == "closed-shop"
        ? .refused(Denial(code: .denied, rule: nil), because: "the shop is closed") : .admitted(facts)
    }
    let policy = try policy()
    switch policy.readingTests(["tests": DocumentNode(.list(tests))], context: context) {
    case .tests(let tests): return tests.map { $0.failure(under: policy) }
    case .problems(let problems): return problems.map { "\($0.subject ?? ""): \($0.message)" }
    }
  }

  @Test func `expectations that hold pass`() throws {
    let failures = try failures(
      [
        "name": "closed on Sunday", "action": "callback", "at": "2026-11-22T10:00:00-05:00",
        "caller": "ios-app",
        "phone": "+14155550100", "expect": "deny", "code": "closed", "rule": "opening-hours",
      ],
      [
        "name": "sixth of the day", "caller": "app-users", "subject": "ann", "claims": ["tier": "gold"],
        "fields": ["X-App-Version": "2.3.0"], "address": "203.0.113.9", "app": "shop",
        "counts": ["daily": "5"],
        "expect": "deny", "code": "quota_exhausted",
      ],
      [
        "name": "fifth of the day", "caller": "app-users", "claims": ["tier": "gold"],
        "counts": ["daily": "4", "per-caller": "9"], "expect": "allow",
      ],
      [
        "name": "burst", "caller": "ios-app", "counts": ["per-caller": "10"], "expect": "deny",
        "code": "rate_limited",
      ],
      ["name": "anonymous", "expect": "allow"],
      ["name": "by name", "caller": "anonymous", "expect": "allow"],
      [
        "name": "app", "caller": "ios-app", "app": "closed-shop", "expect": "deny", "code": "denied",
        "rule": "-",
      ],
      [
        "name": "premium", "action": "callback", "at": "2026-11-20T10:00:00-05:00", "caller": "ios-app",
        "phone": "+19002123456", "remote": ["fraud": "allow"], "expect": "deny", "rule": "default-numbers",
      ],
      [
        "name": "no answer", "action": "callback", "at": "2026-11-20T10:00:00-05:00", "caller": "ios-app",
        "phone": "+14155550100", "expect": "deny", "rule": "fraud",
      ],
      [
        "name": "blocked", "action": "callback", "at": "2026-11-20T10:00:00-05:00", "caller": "ios-app",
        "phone": "+14155550100", "blocked": "true", "remote": ["fraud": "allow"], "expect": "deny",
        "code": "number_not_allowed", "rule": "blocked",
      ])
    #expect(failures == Array(repeating: nil, count: 10))
  }

  /// The failure of a test of a callback under one number rule; nil if the result is as expected.
  private func failure(_ rule: DocumentNode, _ members: [DocumentNode.Member]) throws -> String? {
    var known = KnownNames(callers: ["ios-app"])
    known.numbers = NumberTerms(
      takesProofs: true, consentTexts: [ConsentText(name: "v3", digest: String(repeating: "ab", count: 32))])
    let policy = try #require(Policy.reading(DocumentNode(.list([rule])), known: known).policy)
    let usual: [DocumentNode.Member] = [
      .init("name", "a"), .init("action", "callback"), .init("caller", "ios-app"),
      .init("phone", "+14155550100"),
    ]
    let file: DocumentNode = ["tests": DocumentNode(.list([DocumentNode(.mapping(usual + members))]))]
    switch policy.readingTests(file, context: RuleTestContext(known: known, now: now)) {
    case .tests(let tests): return tests[0].failure(under: policy)
    case .problems(let problems): return "\(problems[0].subject ?? ""): \(problems[0].message)"
    }
  }

  @Test(
    arguments: [
      ("own_number", "", "", "number_not_proven"), ("own_number", "proven", "false", "number_not_proven"),
      ("own_number", "proven", "true", nil),
      ("consent", "", "", "consent_required"), ("consent", "consent", "v2", "consent_required"),
      ("consent", "consent", "v3", nil),
      ("screened", "", "", nil), ("screened", "screened", "allow", nil),
      ("screened", "screened", "refuse", "number_not_allowed"), ("screened", "screened", "unknown", nil),
      ("screened, deny", "screened", "unknown", "upstream_unavailable"),
      ("screened, deny", "screened", "allow", nil),
    ] as [(String, String, String, String?)])
  func `a test says what is known of the number`(
    _ kind: String, _ key: String, _ value: String, _ code: String?
  )
    throws
  {
    let words = kind.split(separator: ",").map { String($0.drop { $0 == " " }) }
    let rule: DocumentNode =
      words.count == 1
      ? ["name": "own", "kind": DocumentNode(.text(words[0]))]
      : ["name": "own", "kind": DocumentNode(.text(words[0])), "on_failure": DocumentNode(.text(words[1]))]
    let given: [DocumentNode.Member] = key.isEmpty ? [] : [.init(key, DocumentNode(.text(value)))]
    let expected: [DocumentNode.Member] =
      code.map {
        [.init("expect", "deny"), .init("code", DocumentNode(.text($0))), .init("rule", "own")]
      } ?? [.init("expect", "allow")]
    #expect(try failure(rule, given + expected) == nil)
    // Each expectation can fail.
    let opposite: DocumentNode.Member = .init("expect", code == nil ? "deny" : "allow")
    #expect(try failure(rule, given + [opposite])?.hasPrefix("expected ") == true)
  }

  @Test(arguments: [("proven", "perhaps"), ("screened", "fail"), ("consent", "")])
  func `another word about the number is a mistake`(_ key: String, _ value: String) throws {
    let wrong = try failure(
      ["name": "own", "kind": "own_number"],
      [.init(key, DocumentNode(.text(value))), .init("expect", "allow")])
    #expect(wrong?.hasPrefix("tests[0].\(key): ") == true, "\(wrong ?? "")")
  }

  @Test func `expectations that do not hold fail, saying what was found and why`() throws {
    func asked(_ stub: KeyValuePairs<String, DocumentNode>) -> DocumentNode {
      DocumentNode(
        .mapping(
          [
            .init("name", "remote"), .init("action", "callback"), .init("at", "2026-11-20T10:00:00-05:00"),
            .init("caller", "ios-app"), .init("phone", "+14155550100"), .init("expect", "allow"),
          ] + stub.map { DocumentNode.Member($0.key, $0.value) }))
    }
    let failures = try failures(
      ["name": "a", "caller": "app-users", "expect": "allow"],
      ["name": "b", "caller": "ios-app", "expect": "deny", "code": "closed"],
      ["name": "c", "caller": "app-users", "expect": "deny", "code": "closed"],
      ["name": "d", "caller": "app-users", "expect": "deny", "rule": "daily"],
      ["name": "e", "caller": "ios-app", "counts": ["daily": "2"], "expect": "deny", "rule": "daily"],
      ["name": "f", "caller": "ios-app", "expect": "deny", "rule": "paying"],
      ["name": "g", "caller": "ios-app", "app": "closed-shop", "expect": "allow"],
      asked([:]), asked(["remote": ["fraud": "deny"]]), asked(["remote": ["fraud": "fail"]]))
    #expect(
      failures == [
        "expected allow, got deny denied paying: claim \"tier\" is missing; \"gold\" is required",
        "expected deny closed, got allow",
        "expected deny closed, got deny denied paying: claim \"tier\" is missing; \"gold\" is required",
        "expected deny daily, got deny denied paying: claim \"tier\" is missing; \"gold\" is required",
        "expected deny daily, got allow: daily allows it, since 2 of 5 used by caller ios-app this day (UTC)",
        "expected deny paying, got allow: paying was skipped, since it applies only to caller app-users",
        "expected allow, got deny denied -: the shop is closed",
        "expected allow, got deny denied fraud: fraud was not stubbed: add remote: { fraud: allow }",
        "expected allow, got deny denied fraud: the policy refuses it",
        "expected allow, got deny denied fraud: the policy gave no decision: the test sets this; on_failure is deny",
      ])
  }

  @Test func `a test with a mistake is no test`() throws {
    #expect(
      try failures(["name": "a", "expect": "allow", "phon": "+1"]).first??.hasPrefix("tests[0].phon") == true)
    for (key, value) in [
      ("at", "2026-11-22"), ("caller", "ios"), ("app", "shp"), ("address", "x"), ("phone", "123"),
      ("action", "call"),
      ("expect", "maybe"), ("code", "nope"), ("rule", "nope"),
    ] as [(String, DocumentNode)] {
      var members = [DocumentNode.Member("name", "a"), DocumentNode.Member(key, value)]
      if key != "expect" { members.append(.init("expect", "deny")) }
      #expect(
        try failures(DocumentNode(.mapping(members))).first??.hasPrefix("tests[0].\(key)") == true, "\(key)")
    }
    #expect(
      try failures(["name": "a", "expect": "allow", "code": "closed"]).first??.hasPrefix("tests[0].expect")
        == true)
    #expect(try failures(["expect": "allow"]).first??.hasPrefix("tests[0]: has no name") == true)
    for counts in [["daily": "x"], ["dialy": "1"], ["paying": "1"]] as [DocumentNode] {
      #expect(
        try failures(["name": "a", "expect": "allow", "counts": counts]).first??.hasPrefix("tests[0].counts")
          == true)
    }
  }

  @Test func `a test that the configuration contradicts is a mistake at its member`() throws {
    #expect(
      try failures(["name": "a", "caller": "installation", "owner": "nobody", "expect": "allow"])
        == ["tests[0].owner: there is no such caller"])
  }

  @Test func `a field's value is read as HTTP reads it`() throws {
    let policy = try #require(
      Policy.reading([["name": "version", "kind": "field", "field": "X-V", "equals": "2.3"]]).policy)
    let context = RuleTestContext(known: KnownNames(callers: [], apps: []), now: now)
    let tests: DocumentNode = [
      "tests": [["name": "spaces around", "fields": ["X-V": " 2.3\t "], "expect": "allow"]]
    ]
    guard case .tests(let read) = policy.readingTests(tests, context: context) else {
      Issue.record("not read")
      return
    }
    #expect(read.map { $0.failure(under: policy) } == [nil])
  }

  @Test func `a file without a list of tests is a problem`() throws {
    for file in ["x", [], ["test": []], [:]] as [DocumentNode] {
      guard case .problems(let problems) = try policy().readingTests(file, context: RuleTestContext(now: now))
      else {
        Issue.record("it was read")
        continue
      }
      #expect(!problems.isEmpty)
    }
  }
}
