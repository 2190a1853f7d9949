// Tests of what Talkdesk's answers about a number mean, in every spelling of its documentation.

import Gate
import Platform
import Testing

@testable import Talkdesk

@Suite struct ScreeningReplyTests {
  private static let refusals: ScreeningSettings.Refusals = {
    var refusals = ScreeningSettings.Refusals()
    refusals.statuses = ["high_risk"]
    refusals.lineTypes = ["premium_rate", "Toll-Free"]
    refusals.tcpaBlacklist = true
    refusals.fraudScore = 85
    return refusals
  }()

  private enum Kind: Equatable {
    case allowed, failed
    case refused(String)
  }

  private func kind(_ finding: ScreeningFinding) -> Kind {
    switch finding {
    case .allowed: .allowed
    case .refused(let setting): .refused(setting.replacing("validation.refuse.", with: ""))
    case .failed: .failed
    }
  }

  private func validation(_ members: String) -> Kind {
    kind(Self.refusals.finding(Array("{\"_embedded\":{\(members)},\"_links\":{}}".utf8)))
  }

  @Test(arguments: [
    ("\"status\":\"HIGH_RISK\"", "status"),
    ("\"status\":\"SAFE\",\"line_type\":\"Premium Rate\"", "line_type"),
    ("\"line_type\":\"PREMIUM-RATE\"", "line_type"), ("\"line_type\":\"Toll Free\"", "line_type"),
    ("\"tcpa_blacklist\":\"True\"", "tcpa_blacklist"), ("\"tcpa_blacklist\":true", "tcpa_blacklist"),
    ("\"fraud_score\":85", "fraud_score"), ("\"fraud_score\":\"100\"", "fraud_score"),
    ("\"fraude_score\":85", "fraud_score"), ("\"fraude_score\":\"85\"", "fraud_score"),
    ("\"fraud_score\":\"N/A\",\"fraude_score\":90", "fraud_score"),
    ("\"fraud_score\":0,\"fraude_score\":90", "fraud_score"),
  ]) func `a value that an operator refuses`(_ members: String, _ setting: String) {
    #expect(validation(members) == .refused(setting))
  }

  @Test(arguments: [
    "\"status\":\"SAFE\"", "\"status\":\"SUSPICIOUS\"", "\"status\":\"N/A\"", "\"status\":null",
    "\"line_type\":\"N/A\"", "\"line_type\":\"Wireless\"", "\"line_type\":\"\"",
    "\"tcpa_blacklist\":\"False\"", "\"tcpa_blacklist\":\"N/A\"", "\"tcpa_blacklist\":\"n/a\"",
    "\"tcpa_blacklist\":false", "\"tcpa_blacklist\":1", "\"tcpa_blacklist\":\"Yes\"",
    "\"fraud_score\":84", "\"fraud_score\":\"84\"", "\"fraud_score\":\"N/A\"", "\"fraud_score\":\"high\"",
    "\"fraud_score\":null", "\"fraud_score\":[99]",
    // Answers that no setting refers to refuse nothing.
    "\"status\":\"SAFE\",\"spammer\":\"True\",\"leaked\":\"True\",\"risky\":\"True\",\"risk\":\"True\",\"voip\":\"True\"",
  ]) func `a value that refuses nothing`(_ members: String) {
    #expect(validation(members) == .allowed)
  }

  @Test func `a setting that is off refuses nothing, whatever the answer is`() {
    var refusals = ScreeningSettings.Refusals()
    refusals.fraudScore = 100
    let content =
      "{\"_embedded\":{\"status\":\"HIGH_RISK\",\"line_type\":\"Pager\",\"tcpa_blacklist\":\"True\",\"fraud_score\":99}}"
    #expect(kind(refusals.finding(Array(content.utf8))) == .allowed)
  }

  @Test(arguments: [
    "", "nonsense", "[]", "{}", "{\"_embedded\":null}", "{\"_embedded\":[]}", "{\"_embedded\":\"x\"}",
    "{\"_embedded\":{}}",
    "{\"_embedded\":{\"carrier\":\"x\"}}", "{\"status\":\"SAFE\"}", "{\"_embedded\":{\"status\":\"ERROR\"}}",
    "{\"_embedded\":{\"status\":\"error\",\"fraud_score\":99}}", "{\"_embedded\":{\"status\":\"SAFE\"}",
  ]) func `no answer is a failure`(_ content: String) {
    #expect(kind(Self.refusals.finding(Array(content.utf8))) == .failed)
  }

  // MARK: Do-not-call lists

  /// 2026-11-18T12:00:00Z.
  private static let noon = Instant(seconds: 1_795_003_200)

  private func listed(_ entries: String, at now: Instant = noon, zone: String = "UTC") throws -> Kind {
    let settings = ScreeningSettings(lists: ["a"], zone: try Zone(named: zone))
    let content = "{\"_embedded\":{\"entries\":\(entries)}}"
    return kind(settings.finding(Array(content.utf8), of: try E164("+14155550100"), at: now))
  }

  @Test(arguments: [
    ("2026-11-17", 0, "UTC", false), ("2026-11-18", 0, "UTC", true), ("2026-11-18", 43_199, "UTC", true),
    ("2026-11-18", 43_200, "UTC", false),
    // The day ends 14 hours earlier there, and 11 hours later here.
    ("2026-11-18", 0, "Pacific/Kiritimati", false), ("2026-11-19", 0, "Pacific/Kiritimati", true),
    ("2026-11-18", 43_200 + 39_599, "Pacific/Pago_Pago", true),
    ("2026-11-18", 43_200 + 39_600, "Pacific/Pago_Pago", false),
    ("2026-11-18T09:00:00Z", 0, "UTC", true), ("2026-11-17T23:59:59Z", 0, "UTC", false),
    ("18/11/2020", 0, "UTC", true), ("N/A", 0, "UTC", true), ("", 0, "UTC", true),
  ]) func `an entry ends with its last day`(_ end: String, _ after: Int64, _ zone: String, _ isListed: Bool)
    throws
  {
    let found = try listed(
      "[{\"phone_number\":\"+14155550100\",\"expiration_date\":\"\(end)\"}]",
      at: Self.noon.advanced(by: .seconds(after)), zone: zone)
    #expect(found == (isListed ? .refused("do_not_call.lists") : .allowed))
  }

  @Test func `one entry that has not ended is enough, and another number's is none`() throws {
    let (ended, other) = (
      "{\"phone_number\":\"+14155550100\",\"expiration_date\":\"2021-01-01\"}",
      "{\"phone_number\":\"+14155550101\"}"
    )
    #expect(try listed("[]") == .allowed)
    #expect(try listed("[\(ended),\(other)]") == .allowed)
    #expect(
      try listed("[\(ended),\(other),{\"phone_number\":\"1 415 555 0100\"}]") == .refused("do_not_call.lists")
    )
    #expect(try listed("[{\"expiration_date\":null}]") == .refused("do_not_call.lists"))
  }

  @Test(arguments: ["null", "{}", "\"none\""]) func `a list without entries is a failure`(_ entries: String)
    throws
  {
    #expect(try listed(entries) == .failed)
  }

  // MARK: Settings

  @Test func `each setting that a verdict depends on changes its fingerprint`() throws {
    var (all, seen) = ([ScreeningSettings(validation: Self.refusals, lists: ["a"])], Set<Int64>())
    let changes: [(inout ScreeningSettings) -> Void] = [
      { $0.validation = nil }, { $0.validation?.statuses = [] }, { $0.validation?.lineTypes = ["pager"] },
      { $0.validation?.tcpaBlacklist = false }, { $0.validation?.fraudScore = 84 },
      { $0.validation?.fraudScore = nil }, { $0.lists = ["b"] }, { $0.lists = ["a", "b"] }, { $0.lists = [] },
      { $0.remember = .seconds(60) }, { $0.url = "https://api.example" },
    ]
    for change in changes {
      var settings = all[0]
      change(&settings)
      all.append(settings)
    }
    all.append(
      ScreeningSettings(validation: Self.refusals, lists: ["a"], zone: try Zone(named: "Europe/Lisbon")))
    for settings in all { seen.insert(settings.fingerprint) }
    #expect(seen.count == all.count)
    #expect(all[0].fingerprint == ScreeningSettings(validation: Self.refusals, lists: ["a"]).fingerprint)
  }
}
