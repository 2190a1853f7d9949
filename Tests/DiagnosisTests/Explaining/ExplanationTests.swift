// Tests of how the server explains its decision on a request, rule by rule.

import API
import Gate
import HTTP
import JSON
import TestSupport
import Testing

@testable import Configuration
@testable import Deciding
@testable import Diagnosis
@testable import RoomSupport

@Suite struct ExplanationTests {
  private static let yaml = """
    callers:
      - { id: ios-app, api_key: { sha256: \(String(repeating: "1", count: 64)) } }
      - { id: partner, api_key: { sha256: \(String(repeating: "2", count: 64)) } }
    apps:
      shop: { callers: [ios-app] }
      help: {}
    rules:
      - { name: opening-hours, kind: hours, timezone: America/New_York, weekly: { mon-fri: "09:00-18:00" } }
      - { name: daily, kind: quota, key: caller, limit: 5, per: day }
      - { name: paying, kind: claims, require: { tier: [gold] }, callers: [partner] }
      - { name: recent, kind: field, field: X-App-Version, at_least: "2.3.0", mode: audit }
    """

  private func explain(_ change: (inout Question) throws -> Void) async throws -> Explanation {
    let configuration = try Fixture.load(Self.yaml, environment: [:], for: .explain).configuration
    var question = Question()
    question.action = "access"
    question[.caller] = "ios-app"
    question[.at] = "2026-11-23T10:00:00-05:00"
    try change(&question)
    return try await OfflineRules(configuration, transport: nil).explain(question)
  }

  @Test func `an allowed request has every rule's verdict and ends with allow`() async throws {
    let explanation = try await explain { $0.fields = [("X-App-Version", "2.4")] }
    #expect(explanation.isAllowed)
    #expect(
      explanation.verdictLines == [
        "opening-hours  allow    Monday 2026-11-23 10:00 in America/New_York is within 09:00-18:00, "
          + "closes Monday 2026-11-23 18:00 (2026-11-23T23:00:00Z)",
        "daily          allow    0 of 5 used by caller ios-app this day (UTC)",
        "paying         skipped  not applicable: it applies only to caller partner",
        "recent         allow    header x-app-version is 2.4; 2.3.0 or later is required",
      ])
    #expect(explanation.summary == "Allowed: none of the 3 rules that apply refuses it.")
    #expect(explanation.decisionLine == "decision: allow")
    let json = try JSONValue(parsing: Array(explanation.json.utf8))
    #expect(json["decision"]?.string == "allow" && json["code"] == nil && json["rule"] == nil)
    #expect(json["reason"]?.string == explanation.summary)
    #expect(
      json["verdicts"]?.array?[1] == [
        "rule": "daily", "verdict": "allow", "reason": "0 of 5 used by caller ios-app this day (UTC)",
      ])
    #expect(
      json["verdicts"]?.array?[2] == [
        "rule": "paying", "verdict": "skipped", "because": "not_applicable",
        "reason": "it applies only to caller partner",
      ])
  }

  @Test func `a refusal closes with a sentence that says why`() async throws {
    let closed = try await explain { $0[.at] = "2026-11-22T10:00:00-05:00" }
    #expect(
      closed.summary
        == "Refused by opening-hours (closed): Sunday 2026-11-22 10:00 in America/New_York is a day without "
        + "opening hours; opens Monday 2026-11-23 09:00 (2026-11-23T14:00:00Z).")
    #expect(
      closed.verdictLines[1] == "daily          skipped  not reached: opening-hours refused the request")
    #expect(
      try JSONValue(parsing: Array(closed.json.utf8))["verdicts"]?.array?[1] == [
        "rule": "daily", "verdict": "skipped", "because": "not_reached",
        "reason": "opening-hours refused the request",
      ])
  }

  @Test func `a permission names what audit mode would refuse, or that no rule applies`() async throws {
    let audited = try await explain { _ in }
    #expect(
      audited.summary
        == "Allowed: none of the 3 rules that apply refuses it. In audit mode: recent would refuse it.")
    #expect(
      audited.verdictLines.last
        == "recent         would_deny  header x-app-version is missing; 2.3.0 or later is required")
    for (rules, summary) in [
      ("", "Allowed: there are no rules."),
      (
        "rules: [{ name: n, kind: claims, callers: [anonymous], apps: [example-app-ios], require: { a: b } }]",
        "Allowed: no rule applies to this request."
      ), (Self.rulesAlone, "Allowed: the one rule that applies does not refuse it."),
    ] {
      let configuration = try Fixture.load(rules, environment: [:], for: .explain).configuration
      var question = Question()
      question.action = "access"
      #expect(try await OfflineRules(configuration, transport: nil).explain(question).summary == summary)
    }
  }

  @Test func `the first denial decides, and what follows is skipped`() async throws {
    let closed = try await explain { $0[.at] = "2026-11-22T10:00:00-05:00" }
    #expect(closed.decisionLine == "decision: deny closed opening-hours")
    #expect(
      closed.verdictLines.map { $0.split(separator: " ")[1] } == ["deny", "skipped", "skipped", "skipped"])
    let used = try await explain { $0.counts = [("daily", 5)] }
    #expect(used.decisionLine == "decision: deny quota_exhausted daily")
    #expect(
      used.json.hasPrefix(#"{"decision":"deny","code":"quota_exhausted","rule":"daily","reason":"Refused by"#)
    )
    let left = try await explain { $0.counts = [("daily", 4)] }
    #expect(left.decisionLine == "decision: allow")
  }

  @Test func `claims decide for those the rule concerns`() async throws {
    let poor = try await explain { $0[.caller] = "partner" }
    #expect(poor.decisionLine == "decision: deny denied paying")
    let rich = try await explain {
      $0[.caller] = "partner"
      try $0.setClaims(json: #"{"tier":"gold"}"#)
    }
    #expect(rich.isAllowed)
  }

  @Test func `a refusal without a rule has a dash, and all rules are skipped`() async throws {
    let unlisted = try await explain {
      $0[.caller] = "partner"
      $0[.app] = "shop"
    }
    #expect(unlisted.decisionLine == "decision: deny denied -")
    #expect(unlisted.verdictLines.someAndAll { $0.hasSuffix("skipped  not reached: no rule was evaluated") })
    #expect(!unlisted.json.contains("\"rule\":\"-\""))
    #expect(
      unlisted.summary == "Refused without a rule (denied): caller partner is not listed for app shop.")
    let unknown = try await explain { $0[.app] = "nope" }
    #expect(unknown.decisionLine == "decision: deny unknown_app -")
    #expect(unknown.summary.hasSuffix("(unknown_app): the request names an app that is not configured."))
  }

  @Test func `the built-in rule refuses the default ranges`() async throws {
    let explanation = try await explain {
      $0.action = "callback"
      $0[.phone] = "+19005550100"
    }
    #expect(explanation.decisionLine == "decision: deny number_not_allowed default-numbers")
    #expect(
      explanation.verdictLines.suffix(4) == [
        "default-numbers  deny        +*********00 begins with +1900, a range that is refused by default",
        "brake-number     skipped     not reached: default-numbers refused the request",
        "brake-burst      skipped     not reached: default-numbers refused the request",
        "brake-hour       skipped     not reached: default-numbers refused the request",
      ])
    #expect(!explanation.json.contains("5550100"))
  }

  @Test func `every mistake of a question is reported at once`() async throws {
    do {
      _ = try await explain {
        $0.action = "acces"
        $0[.caller] = "ios-ap"
        $0[.address] = "1.2.3"
        $0[.phone] = "0999888"
        $0[.at] = "2026-11-22T10:00:00"
        $0.counts = [("daly", 1)]
      }
      Issue.record("nothing was wrong")
    } catch let mistakes as Question.Mistakes {
      #expect(mistakes.list.map(\.member) == ["action", "caller", "address", "phone", "at", "counts.daly"])
      #expect(mistakes.list[1].description.contains("did you mean ios-app?"))
      #expect(mistakes.list[5].description.contains("did you mean \"daily\"?"))
      // An invalid number may still be somebody's, so it is not repeated.
      #expect(!mistakes.list[3].description.contains("999"))
    }
  }

  @Test(arguments: ["[]", "{", "\"gold\"", ""])
  func `claims have to be an object`(text: String) {
    var question = Question()
    #expect(throws: Question.Mistake.self) { try question.setClaims(json: text) }
  }

  @Test func `a rule that counts nothing has no count, and none is given twice`() async throws {
    for counts: [(String, Int64)] in [[("opening-hours", 1)], [("daily", 1), ("daily", 2)], [("daily", -1)]] {
      await #expect(throws: Question.Mistakes.self) { try await explain { $0.counts = counts } }
    }
  }

  @Test func `an anonymous caller is refused where credentials are needed, before any rule`()
    async throws
  {
    let explanation = try await explain { $0[.caller] = "anonymous" }
    #expect(explanation.decisionLine == "decision: deny unauthenticated -")
    #expect(
      explanation.json
        == #"{"decision":"deny","code":"unauthenticated","reason":"Refused without a rule (unauthenticated): "#
        + #"\#(Explanation.noCredential).","verdicts":[]}"#)
  }

  @Test func `without a caller only the rules decide`() async throws {
    #expect(try await explain { $0[.caller] = nil }.isAllowed)
  }

  @Test(arguments: ["allow_anonymous: true\n" + Self.yaml, Self.rulesAlone])
  func `an anonymous caller is decided where allowed, or without configured callers`(
    yaml: String
  ) async throws {
    let configuration = try Fixture.load(yaml, environment: [:], for: .explain).configuration
    var question = Question()
    question.action = "access"
    question[.caller] = "anonymous"
    question[.at] = "2026-11-23T10:00:00-05:00"
    #expect(try await OfflineRules(configuration, transport: nil).explain(question).isAllowed)
  }

  private static let rulesAlone = "rules: [{ name: daily, kind: quota, key: caller, limit: 5, per: day }]"
}
