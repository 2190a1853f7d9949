// Tests of the messages, notices and summary that `callgate check` shows.

import Testing

@testable import Configuration
@testable import RoomSupport

/// What `check` shows about a configuration, valid or not, to the person who wrote it.
@Suite struct ConfigurationReviewTests {
  private func notices(_ yaml: String?, _ changes: [String: String?] = [:]) throws -> [String] {
    try Fixture.load(yaml, environment: Fixture.changed(changes)).notices.map(\.description)
  }

  @Test func `what is missing is named by its key where a file is used, and by its variable otherwise`() {
    let environment = Fixture.changed(["TD_CLIENT_ID": nil, "TD_PRIVATE_KEY": nil])
    #expect(
      Fixture.problems(environment: environment).map { String($0.prefix { $0 != "—" }) } == [
        "TD_CLIENT_ID: missing ", "TD_CLIENT_SECRET or TD_PRIVATE_KEY: missing ",
      ])
    #expect(
      Fixture.problems("log: { level: info }", environment: environment).map {
        String($0.prefix { $0 != "—" })
      } == [
        "talkdesk.client_id (TD_CLIENT_ID): missing ",
        "talkdesk.client_secret_file (TD_CLIENT_SECRET) or talkdesk.private_key_file (TD_PRIVATE_KEY): missing ",
      ])
  }

  @Test(
    arguments: [
      ("talkdesk: { clientid: x }", ["talkdesk.clientid: unknown key"]),
      ("rules: [{ name: a, kind: hours, timezon: UTC, weekly: { mon: \"09:00-10:00\" } }]", ["timezon"]),
      ("rules: [{ name: a, knd: numbers }]", ["knd"]), ("rules: [{ nmae: a, kind: numbers }]", ["nmae"]),
      // Two typos are two problems, and a key that is missing without a typo is one.
      ("rules: [{ nmae: a, knd: numbers }]", ["nmae", "knd"]), ("rules: [{ name: a }]", ["kind"]),
      ("rules: [{ name: a, kind: rate, kez: caller, limit: 1 }]", ["per", "kez"]),
    ])
  func `one slip is one problem`(yaml: String, words: [String]) {
    let problems = Fixture.problems(yaml, environment: Fixture.changed(["TD_CLIENT_ID": nil]))
      .filter { !$0.hasPrefix("talkdesk.client_id") || yaml.contains("talkdesk") }
    #expect(problems.count == words.count, "\(problems)")
    for word in words { #expect(problems.contains { $0.contains(word) }, "\(problems)") }
  }

  @Test func `rules are called by their names`() {
    let problems = Fixture.problems(
      "rules: [{ name: opening-hours, kind: hours, timezone: Lisbon }, { kind: numbers, allow: 1 }]")
    #expect(problems.contains { $0.contains(#": rule "opening-hours": timezone: there is no time zone"#) })
    #expect(problems.contains { $0.contains(": rules[1]: has no name ") }, "\(problems)")
  }

  @Test func `an empty file is said to be empty`() throws {
    for yaml in ["", "\n", "# nothing\n", "---\n"] {
      #expect(try notices(yaml).contains { $0.hasPrefix("config.yaml:1:1: the file is empty") }, "\(yaml)")
    }
    #expect(try !notices("{}").contains { $0.contains("empty") })
  }

  @Test func `a tab is explained`() {
    for (yaml, place) in [
      ("listen:\n\tport: 8080\n", "2:1"), ("listen:\n  host: ::1\n \t port: 1\n", "3:2"),
      ("rules:\n  - name: a\n\tkind: numbers\n", "3:1"),
    ] {
      #expect(
        Fixture.problems(yaml).first
          == "config.yaml:\(place): a tab is used for indentation — YAML allows spaces only: replace the tab",
        "\(Fixture.problems(yaml))")
    }
  }

  @Test func `the rules in force are a table`() throws {
    let loaded = try Fixture.load(
      """
      callers: [{ id: partner, basic: { username: p, password_sha256: \(String(repeating: "0", count: 63))1 } }]
      apps: { shop: {} }
      rules:
        - { name: hours, kind: hours, timezone: UTC, weekly: { mon: "09:00-10:00" }, on: callback, apps: shop }
        - { name: five-a-day, kind: quota, key: caller, limit: 5, per: day, callers: [partner, default], mode: audit }
      """)
    let lines = ConfigurationSummary(loaded.configuration).lines
    let start = try #require(lines.firstIndex(of: "rules:"))
    #expect(
      Array(lines[(start + 1)...(start + 3)]) == [
        "  name        kind   on                        mode     for",
        "  hours       hours  callback                  enforce  apps shop",
        "  five-a-day  quota  access, callback, ticket  audit    callers partner, default",
      ])
    #expect(ConfigurationSummary(try Fixture.load().configuration).description.contains("rules: none"))
  }

  @Test func `a variable that stands in place of the file's value says so`() throws {
    let summary = ConfigurationSummary(
      try Fixture.load("talkdesk: { account: beta }\nlog: { level: debug }").configuration
    ).description
    #expect(summary.contains("talkdesk.account = \"acme\"  (TD_ACCOUNT_NAME, in place of config.yaml:1:22)"))
    #expect(summary.contains("log.level = \"debug\"  (config.yaml:2:15)"))
  }

  @Test func `a store that holds no password is shown`() throws {
    for (url, shown) in [
      ("memory", "store.url = \"memory\""), ("sqlite:a.sqlite3", "store.url = \"sqlite:a.sqlite3\""),
      ("postgres://u:canary@h/d", "store.url = <redacted>"),
    ] {
      let summary = ConfigurationSummary(try Fixture.load("store: { url: \"\(url)\" }").configuration)
      #expect(summary.description.contains(shown))
    }
  }

  @Test func `a misspelt login is noted, and other programs' variables are not`() throws {
    let found = try notices(nil, ["DEFAULT_USRNAME": "x", "DEFAULT_REGION": "eu", "DEFAULT_LOCALE": "x"])
    #expect(found == ["DEFAULT_USRNAME: unknown and not used — did you mean DEFAULT_USERNAME?"])
  }

  @Test func `an abbreviation of a time zone names the city`() {
    #expect(
      Fixture.problems("rules: [{ name: a, kind: quota, key: caller, limit: 1, per: day, timezone: EST }]")
        .first?
        .hasSuffix(
          "timezone: \"EST\" is an abbreviation, not the name of a time zone — use \"America/New_York\", "
            + "or another city with the same time") == true)
  }
}
