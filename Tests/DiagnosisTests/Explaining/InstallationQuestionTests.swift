// Tests of how rules are explained and tested for installations, and for enrollment requests.

import API
import Documents
import Testing

@testable import Configuration
@testable import Deciding
@testable import Diagnosis
@testable import RoomSupport

@Suite struct InstallationQuestionTests {
  private static let rules = """
    rules:
      - { name: enrol-hours, kind: hours, on: enrol, timezone: America/New_York, weekly: { mon-fri: "09:00-18:00" } }
      - { name: known-apps, kind: claims, on: [enrol, access], require: { client_app: [Shop] }, callers: [installation, anonymous, app-users] }
      - { name: per-user, kind: quota, key: subject, limit: 5, per: day }
      - { name: per-phone, kind: quota, key: installation, limit: 3, per: day }
      - { name: office, kind: addresses, on: enrol, allow: [203.0.113.0/24] }
      - { name: partners, kind: addresses, callers: [partner], allow: [203.0.113.0/24] }
    """

  private static let yaml = """
    callers:
      - { id: partner, api_key: { sha256: \(String(repeating: "1", count: 64)) } }
      - { id: app-users, jwt: { issuer: a, audience: b, hs256_secret_file: /not/opened } }
    apps:
      shop: { callers: [app-users], installations: {} }
      help: {}

    """ + rules

  private static let id = "5f1c0b5e-8a77-4a0e-9d2e-0e5a2f6d3c11"

  private func explain(_ yaml: String = Self.yaml, _ change: (inout Question) throws -> Void) async throws
    -> Explanation
  {
    let configuration = try Fixture.load(yaml, environment: [:], for: .explain).configuration
    var question = Question()
    question.action = "access"
    question[.caller] = "installation"
    question[.at] = "2026-11-23T10:00:00-05:00"
    question[.address] = "203.0.113.9"
    try question.setClaims(json: #"{"client_app":"Shop"}"#)
    try change(&question)
    return try await OfflineRules(configuration, transport: nil).explain(question)
  }

  private func mistakes(_ yaml: String = Self.yaml, _ change: (inout Question) throws -> Void) async throws
    -> [String]
  {
    do {
      _ = try await explain(yaml, change)
      return []
    } catch let error as Question.Mistakes {
      return error.list.map { "\($0.member): \($0.description)" }
    }
  }

  @Test func `an operator's installation is its own subject, a user's counts with the user`() async throws {
    let own = try await explain { $0[.installation] = Self.id.uppercased() }
    #expect(own.decisionLine == "decision: allow")
    let lines = own.verdictLines.joined(separator: "\n")
    #expect(
      lines.contains("0 of 5 used by subject \"\(Self.id)\" of caller installation this day"), "\(lines)")
    #expect(lines.contains("0 of 3 used by installation \(Self.id) this day"), "\(lines)")
    #expect(lines.contains("it applies only to caller partner"))
    #expect(lines.contains("enrol-hours  skipped  not applicable: it applies only to enrol"), "\(lines)")
    let user = try await explain { $0[.subject] = "ann" }
    #expect(
      user.verdictLines.joined().contains("0 of 5 used by subject \"ann\" of caller app-users this day"))
    let other = try await explain { try $0.setClaims(json: #"{"client_app":"Other"}"#) }
    #expect(other.decisionLine == "decision: deny denied known-apps")
  }

  @Test func `an installation belongs to its app, which need not list it`() async throws {
    #expect(try await explain { $0[.app] = "shop" }.isAllowed)
    #expect(try await explain { $0[.app] = "help" }.decisionLine == "decision: deny denied -")
    #expect(try await explain { $0[.app] = "none" }.decisionLine == "decision: deny unknown_app -")
    let none = try await explain("apps: { help: {} }") { $0[.app] = "help" }
    #expect(none.decisionLine == "decision: deny unauthenticated -")
  }

  @Test func `a phone may enrol without a credential, by the rules on enrol alone`() async throws {
    let open = try await explain {
      $0.action = "enrol"
      $0[.caller] = "anonymous"
    }
    #expect(open.decisionLine == "decision: allow")
    #expect(open.verdictLines.contains { $0.hasPrefix("per-user") && $0.contains("not applicable") })
    for (change, decision) in [
      ({ $0[.at] = "2026-11-22T10:00:00-05:00" }, "deny closed enrol-hours"),
      ({ $0[.address] = "198.51.100.7" }, "deny denied office"),
      ({ try $0.setClaims(json: #"{"client_app":"Other"}"#) }, "deny denied known-apps"),
      ({ $0[.app] = "help" }, "deny denied -"), ({ $0[.app] = "none" }, "deny unknown_app -"),
    ] as [((inout Question) throws -> Void, String)] {
      let explanation = try await explain {
        ($0.action, $0[.caller]) = ("enrol", nil)
        try change(&$0)
      }
      #expect(explanation.decisionLine == "decision: \(decision)")
    }
  }

  @Test func `only a user's credential counts for an enrolment`() async throws {
    let onlyUsers = Self.yaml.replacing("installations: {}", with: "installations: { authorize: [user] }")
    func decision(_ yaml: String, _ caller: String?) async throws -> String {
      try await explain(yaml) {
        ($0.action, $0[.caller], $0[.subject]) = ("enrol", caller, caller.map { _ in "ann" })
      }
      .decisionLine
    }
    #expect(try await decision(onlyUsers, "app-users") == "decision: allow")
    for caller in [nil, "partner", "installation"] {
      #expect(try await decision(onlyUsers, caller) == "decision: deny unauthenticated -")
      // The app lists only its users, and an operator's enrollment has no caller.
      #expect(try await decision(Self.yaml, caller) == "decision: allow")
    }
    let unlisted = onlyUsers.replacing(
      "callers: [app-users], installations", with: "callers: [others], installations"
    ).replacing(
      "apps:",
      with: "  - { id: others, jwt: { issuer: c, audience: b, hs256_secret_file: /not/opened } }\napps:")
    #expect(try await decision(unlisted, "app-users") == "decision: deny denied -")
  }

  @Test func `what is missing or contradicts itself is a mistake of its member`() async throws {
    let two = Self.yaml.replacing(
      "apps:",
      with: "  - { id: others, jwt: { issuer: c, audience: b, hs256_secret_file: /not/opened } }\napps:")
    #expect(try await mistakes { $0[.installation] = "x" } == [#"installation: "x" is not a UUID"#])
    #expect(
      try await mistakes { ($0[.caller], $0[.installation]) = ("partner", Self.id) }
        == ["installation: is only for the caller installation"])
    #expect(
      try await mistakes { ($0[.caller], $0[.owner]) = ("partner", "app-users") }.first?.hasPrefix("owner: ")
        == true)
    #expect(
      try await mistakes { $0[.owner] = "app-users" }.first?.hasPrefix("owner: there is no user") == true)
    #expect(
      try await mistakes { ($0[.owner], $0[.subject]) = ("partner", "ann") }.first?.hasPrefix(
        "owner: \"partner\"")
        == true)
    #expect(
      try await mistakes(two) { $0[.subject] = "ann" }
        == ["subject: several callers have users; name the user's caller with owner"])
    #expect(try await mistakes(two) { ($0[.subject], $0[.owner]) = ("ann", "others") } == [])
    let noUsers = "apps: { shop: { installations: {} } }\n"
    #expect(
      try await mistakes(noUsers) { $0[.subject] = "ann" }.first?.hasPrefix("subject: no caller") == true)
    let several = "apps: { a: { installations: {} }, b: { installations: {} } }\n"
    #expect(try await mistakes(several) { _ in } == ["app: several apps have installations; name the app"])
    #expect(
      try await mistakes("apps: { a: {} }\n") { $0.action = "enrol" }
        == ["app: no app has installations; give an app installations"])
  }

  @Test func `a table of tests knows installations and enrolments`() throws {
    let configuration = try Fixture.load(Self.yaml, environment: [:], for: .explain).configuration
    func run(_ tests: String) throws -> OfflineRules.TableResult {
      try OfflineRules(configuration, transport: nil)
        .test("tests.yaml", files: Fixture.reader(["tests.yaml": Fixture.content(tests)]))
    }
    let result = try run(
      """
      tests:
        - { name: a phone's third, caller: installation, claims: { client_app: Shop }, counts: { per-phone: 2 }, expect: allow }
        - { name: its fourth, caller: installation, subject: ann, owner: app-users, claims: { client_app: Shop },
            counts: { per-phone: 3 }, expect: deny, code: quota_exhausted, rule: per-phone }
        - { name: another app, caller: installation, app: help, expect: deny, code: denied, rule: "-" }
        - { name: a new phone, action: enrol, address: 203.0.113.9, claims: { client_app: Shop },
            at: "2026-11-23T10:00:00-05:00", expect: allow }
        - { name: from elsewhere, action: enrol, address: 198.51.100.7, claims: { client_app: Shop },
            at: "2026-11-23T10:00:00-05:00", expect: deny, code: denied, rule: office }
        - { name: on Sunday, action: enrol, at: "2026-11-22T10:00:00-05:00", expect: deny, code: closed }
        - { name: for another app, action: enrol, app: help, expect: deny, code: denied, rule: "-" }
        - { name: by a user, action: enrol, caller: app-users, subject: ann, address: 203.0.113.9,
            claims: { client_app: Shop }, at: "2026-11-23T10:00:00-05:00", expect: allow }
      """)
    #expect(result.failures == [])
    #expect(result.passed == 8)
    let error = #expect(throws: ConfigurationErrors.self) {
      try run("tests: [{ name: a, caller: partner, owner: app-users, expect: allow }]")
    }
    #expect(error?.problems.map(\.subject) == ["tests[0].owner"])
  }
}
