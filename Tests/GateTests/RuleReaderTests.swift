// Tests of how rules are read from a configuration, and how each mistake is reported.

import Documents
import Gate
import Testing

struct RuleReaderTests {
  /// The rules in the documentation.
  static let documented: DocumentNode = [
    [
      "name": "opening-hours", "kind": "hours", "timezone": "America/New_York",
      "weekly": ["mon-fri": "09:00-18:00", "sat": ["10:00-12:00", "12:30-14:00"]], "closed": ["2026-12-25"],
      "open": ["2026-12-24": "09:00-12:00"],
    ],
    ["name": "per-caller", "kind": "rate", "key": "caller", "limit": "30", "per": "1m", "burst": "10"],
    [
      "name": "daily", "kind": "quota", "key": "subject", "limit": "5", "per": "day",
      "timezone": "Europe/Lisbon",
    ],
    ["name": "numbers", "kind": "numbers", "allow": ["+1", "+351"], "deny": ["+1900", "+1976"]],
    ["name": "office-only", "kind": "addresses", "allow": ["203.0.113.0/24"]],
    ["name": "paying", "kind": "claims", "require": ["tier": ["gold", "platinum"]]],
    ["name": "recent-app", "kind": "field", "field": "X-App-Version", "at_least": "2.3.0"],
    [
      "name": "fraud", "kind": "remote", "url": "https://policy.example/v1/data/callgate/allow",
      "timeout": "500ms",
      "on_failure": "deny", "on": ["callback"], "apps": ["shop"], "callers": ["ios-app", "anonymous"],
      "mode": "audit",
    ],
    ["name": "agents", "kind": "agents", "at_least": "2", "on_stale": "deny"],
    ["name": "own-number", "kind": "own_number"],
    ["name": "agreed", "kind": "consent", "texts": ["v3"]],
    ["name": "screened", "kind": "screened", "on_failure": "allow", "timeout": "3s"],
  ]

  @Test func `the documented rules are read`() throws {
    let known = KnownNames(callers: ["ios-app"], apps: ["shop"])
    let policy = try #require(Policy.reading(Self.documented, known: known).policy)
    #expect(policy.rules.map(\.kind.word) == Rule.Kind.Word.allCases)
    guard case .hours(let schedule) = policy.rules[0].kind else { return }
    #expect(try schedule.isOpen(at: at("2026-11-21T12:15:00-05:00").seconds) == false)
    #expect(try schedule.isOpen(at: at("2026-11-21T13:59:00-05:00").seconds) == true)
    #expect(try schedule.isOpen(at: at("2026-12-24T12:00:00-05:00").seconds) == false)
    let remote = policy.rules[7]
    #expect(remote.actions == [.callback] && remote.apps == ["shop"] && remote.mode == .audit)
    guard case .rate(let rate, key: .caller, onStoreFailure: .deny) = policy.rules[1].kind else {
      Issue.record("the rate reads otherwise")
      return
    }
    #expect(rate.limit == 30 && rate.per == 60 * second && rate.burst == 10)
  }

  /// A rule, and its wrong key.
  static let mistakes: [(DocumentNode, String)] = [
    ("text", "rules[0]"), (["kind": "numbers"], "rules[0]"), (["name": "a"], "rule \"a\""),
    (["name": "a", "kind": "hour"], "rule \"a\": kind"),
    (["name": "a b", "kind": "numbers"], "rule \"a b\": name"),
    (["name": "default-numbers", "kind": "numbers"], "rule \"default-numbers\": name"),
    (["name": "a", "kind": "numbers", "alow": "+1"], "rule \"a\": alow"),
    (["name": "a", "kind": "numbers", "allow": ["+1", "351"]], "rule \"a\": allow[1]"),
    (["name": "a", "kind": "numbers", "allow": []], "rule \"a\": allow"),
    (["name": "a", "kind": "numbers", "default_deny": "no"], "rule \"a\": default_deny"),
    (["name": "a", "kind": "numbers", "on": ["acces"]], "rule \"a\": on[0]"),
    (["name": "a", "kind": "numbers", "on": []], "rule \"a\": on"),
    (["name": "a", "kind": "numbers", "mode": "warn"], "rule \"a\": mode"),
    (["name": "a", "kind": "numbers", "callers": ["ios"]], "rule \"a\": callers[0]"),
    (["name": "a", "kind": "numbers", "apps": ["shp"]], "rule \"a\": apps[0]"),
    (["name": "a", "kind": "numbers", "apps": []], "rule \"a\": apps"),
    (["name": "a", "kind": "rate", "key": "user", "limit": "1", "per": "1m"], "rule \"a\": key"),
    (["name": "a", "kind": "rate", "limit": "1", "per": "1m"], "rule \"a\""),
    (["name": "a", "kind": "rate", "key": "caller", "limit": "0", "per": "1m"], "rule \"a\": limit"),
    (["name": "a", "kind": "rate", "key": "caller", "limit": "-1", "per": "1m"], "rule \"a\": limit"),
    (["name": "a", "kind": "rate", "key": "caller", "limit": "1", "per": "day"], "rule \"a\": per"),
    (
      ["name": "a", "kind": "rate", "key": "caller", "limit": "1", "per": "1m", "burst": "0"],
      "rule \"a\": burst"
    ),
    (
      ["name": "a", "kind": "rate", "key": "caller", "limit": "1", "per": "1m", "on_store_failure": "x"],
      "rule \"a\": on_store_failure"
    ),
    (["name": "a", "kind": "quota", "key": "caller", "limit": "1", "per": "1m"], "rule \"a\": per"),
    (
      ["name": "a", "kind": "quota", "key": "caller", "limit": "1", "per": "day", "timezone": "Mars/Base"],
      "rule \"a\": timezone"
    ),
    (["name": "a", "kind": "hours", "weekly": ["mon": "09:00-10:00"]], "rule \"a\""),
    (["name": "a", "kind": "hours", "timezone": "UTC"], "rule \"a\": weekly"),
    (
      ["name": "a", "kind": "hours", "timezone": "UTC", "weekly": ["monday": "09:00-10:00"]],
      "rule \"a\": weekly.monday"
    ),
    (["name": "a", "kind": "hours", "timezone": "UTC", "weekly": ["mon": "9-10"]], "rule \"a\": weekly.mon"),
    (
      [
        "name": "a", "kind": "hours", "timezone": "UTC",
        "weekly": ["mon-fri": "09:00-10:00", "tue": "11:00-12:00"],
      ],
      "rule \"a\": weekly.tue"
    ),
    (
      ["name": "a", "kind": "hours", "timezone": "UTC", "weekly": ["mon": ["09:00-11:00", "10:00-12:00"]]],
      "rule \"a\": weekly.mon"
    ),
    (
      [
        "name": "a", "kind": "hours", "timezone": "UTC", "weekly": ["mon": "09:00-11:00"],
        "closed": ["25.12.2026"],
      ],
      "rule \"a\": closed[0]"
    ),
    (
      [
        "name": "a", "kind": "hours", "timezone": "UTC", "weekly": ["mon": "09:00-11:00"],
        "open": ["2026-02-30": []],
      ],
      "rule \"a\": open.2026-02-30"
    ),
    (["name": "a", "kind": "addresses"], "rule \"a\": allow"),
    (["name": "a", "kind": "addresses", "allow": ["10.0.0.0/8", "0.0.0.0/0"]], "rule \"a\": allow[1]"),
    (["name": "a", "kind": "addresses", "deny": ["10.0.0.1/8"]], "rule \"a\": deny[0]"),
    (["name": "a", "kind": "claims"], "rule \"a\": require"),
    (["name": "a", "kind": "claims", "require": ["tier": []]], "rule \"a\": require.tier"),
    (["name": "a", "kind": "field", "field": "X Y", "equals": "1"], "rule \"a\": field"),
    (["name": "a", "kind": "field", "field": "X"], "rule \"a\": field"),
    (["name": "a", "kind": "field", "field": "X", "equals": "1", "in": ["2"]], "rule \"a\": field"),
    (["name": "a", "kind": "field", "field": "X", "at_least": "v2"], "rule \"a\": at_least"),
    (["name": "a", "kind": "remote", "url": "http://policy.example"], "rule \"a\": url"),
    (["name": "a", "kind": "remote", "url": "https://p.example", "timeout": "31s"], "rule \"a\": timeout"),
    (["name": "a", "kind": "remote", "url": "https://p.example", "timeout": "500"], "rule \"a\": timeout"),
    (
      ["name": "a", "kind": "remote", "url": "https://p.example", "on_failure": "pass"],
      "rule \"a\": on_failure"
    ),
  ]

  @Test(arguments: mistakes.indices)
  func `each mistake is found, at its key and with a remedy`(_ index: Int) {
    let (rule, key) = Self.mistakes[index]
    let problems = Policy.reading([rule], known: KnownNames(callers: ["ios-app"], apps: ["shop"])).problems
    #expect(problems.map(\.subject) == [key])
    for problem in problems { #expect(!problem.message.isEmpty && !problem.remedy.isEmpty) }
  }

  @Test func `all mistakes are found at once, in the order of their places`() throws {
    func member(_ name: String, _ line: Int, _ value: String) -> DocumentNode.Member {
      .init(
        name, place: .file("", line: line, column: 5),
        DocumentNode(place: .file("", line: line, column: 12), .text(value)))
    }
    let rules = DocumentNode(
      .list([
        DocumentNode(
          place: .file("", line: 2, column: 5),
          .mapping([
            member("name", 2, "a"), member("kind", 3, "rate"), member("key", 4, "who"),
            member("limit", 5, "0x"),
            member("per", 6, "soon"), member("colour", 7, "red"), member("mode", 8, "on"),
          ])),
        DocumentNode(
          place: .file("", line: 9, column: 5),
          .mapping([member("name", 9, "b"), member("kind", 10, "numbers")])),
        DocumentNode(
          place: .file("", line: 11, column: 5),
          .mapping([member("name", 11, "b"), member("kind", 12, "numbers")])),
      ]))
    let problems = Policy.reading(rules).problems
    #expect(problems.map(\.place.description) == [4, 5, 6, 7, 8, 11].map { ":\($0):\($0 == 7 ? 5 : 12)" })
    #expect(problems.map(\.subject).last == "rules[2].name")
  }

  @Test func `a mistyped word is answered with the one that was meant`() {
    let problems = Policy.reading([["name": "a", "kind": "numbers", "dney": "+1"]]).problems
    #expect(problems.first?.remedy.contains("did you mean deny?") == true)
  }

  @Test func `a text where a list of rules should be is a problem`() {
    #expect(Policy.reading("none").problems.map(\.subject) == ["rules"])
    #expect(Policy.reading([]).policy?.rules.isEmpty == true)
  }
}
