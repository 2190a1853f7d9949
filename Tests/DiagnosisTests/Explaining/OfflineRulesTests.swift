// Tests of `callgate rules test`, which runs tables of tests without a server.

import Testing

@testable import Configuration
@testable import Deciding
@testable import Diagnosis
@testable import RoomSupport

@Suite struct OfflineRulesTests {
  private static let yaml = """
    callers:
      - { id: ios-app, api_key: { sha256: \(String(repeating: "1", count: 64)) } }
      - { id: app-users, jwt: { issuer: a, audience: b, hs256_secret_file: /not/opened } }
    apps:
      shop: { callers: [app-users] }
    rules:
      - { name: opening-hours, kind: hours, timezone: America/New_York, weekly: { mon-fri: "09:00-18:00" },
          on: callback }
      - { name: daily, kind: quota, key: subject, limit: 5, per: day }
      - { name: recent, kind: field, field: X-App-Version, at_least: "2.3.0" }
      - { name: office, kind: addresses, allow: [203.0.113.0/24], callers: [app-users] }
      - { name: fraud, kind: remote, url: "https://policy.example/v1/data/allow", apps: [shop] }
    """

  private func run(_ tests: String) throws -> OfflineRules.TableResult {
    let configuration = try Fixture.load(Self.yaml, environment: [:], for: .explain).configuration
    return try OfflineRules(configuration, transport: nil)
      .test("tests.yaml", files: Fixture.reader(["tests.yaml": Fixture.content(tests)]))
  }

  @Test func `a table is run test by test, by the code of the server`() throws {
    let result = try run(
      """
      tests:
        - { name: closed on Sunday, action: callback, at: "2026-11-22T10:00:00-05:00", caller: ios-app,
            phone: "+14155550100", expect: deny, code: closed, rule: opening-hours }
        - { name: sixth of the day, caller: app-users, subject: ann, fields: { X-App-Version: "2.3.0" },
            address: 203.0.113.9, app: shop, counts: { daily: 5 }, expect: deny, code: quota_exhausted }
        - { name: fifth of the day, caller: app-users, subject: ann, fields: { X-App-Version: "2.3.0" },
            address: 203.0.113.9, app: shop, counts: { daily: 4 }, remote: { fraud: allow }, expect: allow }
        - { name: a policy that fails denies, caller: app-users, fields: { X-App-Version: "2.3.0" },
            address: 203.0.113.9, expect: deny, rule: fraud }
        - { name: not listed, caller: ios-app, app: shop, expect: deny, code: denied, rule: "-" }
        - { name: premium, action: callback, at: "2026-11-23T10:00:00-05:00", caller: ios-app,
            phone: "+19005550100", fields: { x-app-version: "3" }, expect: deny, rule: default-numbers }
      """)
    #expect(result.failures == [])
    #expect(result.passed == 6)
  }

  @Test func `tokens by push, tickets, unknown apps and empty headers are judged as by the server`() throws {
    let configuration = try Fixture.load(
      """
      callers:
        - { id: ios-app, api_key: { sha256: \(String(repeating: "1", count: 64)) } }
        - { id: app-users, jwt: { issuer: a, audience: b, hs256_secret_file: /not/opened } }
      apps:
        news: { delivery: push, installations: { authorize: [user] } }
        chat: { desk: chat, callers: [app-users] }
        silent: { desk: silent, callers: [app-users] }
      desks:
        chat: { kind: sendbird, application_id: A, api_token_file: /not/opened, desk_api_token_file: /not/opened }
        silent: { kind: sendbird, application_id: B, api_token_file: /not/opened }
      rules:
        - { name: version, kind: field, field: X-App-Version, in: ["2", "3"], on: callback }
      """, environment: [:], for: .explain
    ).configuration
    let tests = """
      tests:
        - { name: no phone, caller: ios-app, app: news, expect: deny, code: denied, rule: "-" }
        - { name: a user, caller: app-users, subject: ann, app: news, expect: deny, code: denied, rule: "-" }
        - { name: a phone, caller: installation, app: news, expect: allow }
        - { name: the rules alone, app: news, expect: allow }
        - { name: no desk, action: ticket, caller: app-users, app: news, expect: deny, code: denied, rule: "-" }
        - { name: no app, action: ticket, caller: app-users, expect: deny, code: denied, rule: "-" }
        - { name: no token, action: ticket, caller: app-users, app: silent, expect: deny, code: denied, rule: "-" }
        - { name: a ticket, action: ticket, caller: app-users, app: chat, expect: allow }
        - { name: no such app, caller: ios-app, app: nope, expect: deny, code: unknown_app, rule: "-" }
        - { name: empty, action: callback, caller: ios-app, fields: { X-App-Version: "" }, expect: deny, rule: version }
      """
    let result = try OfflineRules(configuration, transport: nil)
      .test("tests.yaml", files: Fixture.reader(["tests.yaml": Fixture.content(tests)]))
    #expect(result.failures == [])
    #expect(result.passed == 10)
  }

  @Test func `a test without a caller is refused like a request without credentials`() throws {
    let result = try run(
      """
      tests:
        - { name: the rules alone, fields: { X-App-Version: "2.3.0" }, expect: allow }
        - { name: nobody, caller: anonymous, expect: deny, code: unauthenticated, rule: "-" }
        - { name: nobody either, caller: anonymous, fields: { X-App-Version: "2.3.0" }, expect: allow }
      """)
    #expect(
      result.failures == [
        "tests.yaml:4:5: nobody either: expected allow, got deny unauthenticated -: \(Explanation.noCredential)"
      ])
  }

  @Test func `a failure names its place, its test, and both verdicts`() throws {
    let result = try run(
      """
      tests:
        - { name: old app, caller: ios-app, fields: { X-App-Version: "2.2.9" }, expect: allow }
        - { name: new app, caller: ios-app, fields: { X-App-Version: "2.3.0" }, expect: deny, rule: recent }
        - { name: right, caller: ios-app, fields: { X-App-Version: "2.3.0" }, expect: allow }
      """)
    #expect(result.passed == 1)
    #expect(
      result.failures == [
        "tests.yaml:2:5: old app: expected allow, got deny denied recent: header x-app-version is 2.2.9; "
          + "2.3.0 or later is required",
        "tests.yaml:3:5: new app: expected deny recent, got allow: recent allows it, since header x-app-version "
          + "is 2.3.0; 2.3.0 or later is required",
      ])
  }

  @Test func `a failure says what a test lacks`() throws {
    let result = try run(
      """
      tests:
        - { name: not stubbed, caller: app-users, fields: { X-App-Version: "3" }, address: 203.0.113.9, expect: allow }
        - { name: not listed, caller: ios-app, app: shop, expect: allow }
      """)
    #expect(
      result.failures == [
        "tests.yaml:2:5: not stubbed: expected allow, got deny denied fraud: fraud was not stubbed: "
          + "add remote: { fraud: allow }",
        "tests.yaml:3:5: not listed: expected allow, got deny denied -: caller ios-app is not listed for app shop",
      ])
  }

  @Test func `a wrong table is refused with every mistake at its place`() throws {
    do {
      _ = try run(
        """
        tests:
          - { name: a, caller: ios-ap, expect: allow }
          - { name: b, expects: deny }
          - { name: c, expect: deny, rule: opening-hour }
        """)
      Issue.record("nothing was wrong")
    } catch let errors as ConfigurationErrors {
      #expect(errors.problems.count == 3)
      #expect(errors.description.contains("tests.yaml:2:24: tests[0].caller: \"ios-ap\" is unknown here"))
      #expect(errors.description.contains("did you mean \"ios-app\"?"))
      #expect(errors.description.contains("did you mean expect?"))
      #expect(errors.description.contains("did you mean \"opening-hours\"?"))
    }
  }

  @Test(arguments: ["", "# nothing", "test: []", "- a", "tests: { a: b }", "tests: [\n", "a: &x 1"])
  func `what is no table is refused`(text: String) {
    #expect(throws: ConfigurationErrors.self) { try run(text) }
  }

  @Test func `a file that is not there is refused`() throws {
    let configuration = try Fixture.load(environment: [:], for: .explain).configuration
    #expect(throws: ConfigurationErrors.self) {
      try OfflineRules(configuration, transport: nil).test("none.yaml", files: Fixture.reader([:]))
    }
  }
}
