// Generates random rules and requests for the tests that compare verdicts.

import Gate
import JSON
import Platform
import TestSupport

extension SeededGenerator {
  /// A random choice from a list, at least one element, as a YAML list.
  mutating func some(of choices: [String]) -> String {
    let chosen = choices.filter { _ in chance(50) }
    return "[" + (chosen.isEmpty ? [one(of: choices)] : chosen).joined(separator: ", ") + "]"
  }
}

/// Rules of every kind, as an operator could have written them.
struct RandomRules {
  /// Whether a running server evaluates the rules now, instead of a test at a chosen time. If so, hours and
  /// rates are such that their verdict stays the same for seconds.
  var isLive = false

  static let callers = ["ios-app", "partner", "app-users", "anonymous"]
  static let apps = ["shop", "help", "open", "news", "chat", "silent"]

  /// Every rule kind that needs no other setting. Kinds that count or compare in several ways appear twice.
  /// Kinds that need proofs, consents or lookups have tests of their own.
  private static let kinds = Rule.Kind.Word.allCases.flatMap { kind in
    switch kind {
    case .rate, .quota, .field: [kind, kind]
    case .hours, .numbers, .addresses, .claims, .remote, .agents: [kind]
    case .ownNumber, .consent, .screened: [Rule.Kind.Word]()
    }
  }

  /// The section `rules`; rule n is named rn.
  func yaml(_ count: Int, _ dice: inout SeededGenerator) -> String {
    count == 0
      ? "rules: []\n" : "rules:\n" + (0..<count).map { "  - { name: r\($0), \(rule($0, &dice)) }\n" }.joined()
  }

  private func rule(_ number: Int, _ dice: inout SeededGenerator) -> String {
    // A server's agent count changes during the test.
    let kind = dice.one(of: Self.kinds.filter { !isLive || $0 != .agents })
    var key = dice.one(of: ["caller", "subject", "app", "address", "phone", "global"])
    var parts = ["kind: \(kind.rawValue)"]
    switch kind {
    case .hours: parts.append(hours(&dice))
    case .rate:
      let per = isLive ? "300d" : dice.one(of: ["1s", "1m", "90s", "1h", "7d"])
      parts.append("key: \(key), limit: \(1 + dice.below(12)), per: \(per), burst: \(1 + dice.below(9))")
    case .quota:
      let per = isLive ? "month" : dice.one(of: ["day", "week", "month"])
      parts.append("key: \(key), limit: \(1 + dice.below(12)), per: \(per), timezone: \(zone(&dice))")
    case .numbers:
      parts.append("allow: \(dice.some(of: ["\"+1\"", "\"+351\"", "\"+44\"", "\"+49\"", "\"+1900\""]))")
      parts.append("deny: \(dice.some(of: ["\"+1415\"", "\"+35170\"", "\"+447\""]))")
      parts.append("default_deny: \(dice.chance(70))")
    case .addresses:
      if dice.chance(60) {
        parts.append("allow: \(dice.some(of: ["203.0.113.0/24", "198.51.100.0/24", "\"2001:db8::/32\""]))")
      }
      parts.append("deny: \(dice.some(of: ["203.0.113.128/25", "198.51.100.7", "\"2001:db8:1::/48\""]))")
    case .claims:
      parts.append(
        "require: "
          + dice.one(of: [
            "{ tier: [gold, platinum] }", "{ realm_access.roles: staff }", "{ verified: \"true\" }",
            "{ age: [\"42\", \"18\"], tier: gold }", "{ \"https://shop.example/tier\": gold }",
          ]))
    case .field:
      parts.append(
        dice.one(of: [
          "field: X-App-Version, at_least: \"2.3.0\"", "field: X-Platform, in: [ios, android]",
          "field: x-mode, equals: \"on\"",
        ]))
    case .agents:
      parts.append("at_least: \(1 + dice.below(3)), on_stale: \(dice.one(of: ["allow", "deny"]))")
    case .remote:
      parts.append(
        "url: \"https://policy.example/r\(number)\", on_failure: \(dice.one(of: ["allow", "deny"]))")
    case .ownNumber, .consent, .screened: preconditionFailure("not one of the kinds above")
    }
    if kind == .numbers { key = "phone" }
    if key != "phone", dice.chance(10) {
      parts.append("on: ticket")
    } else {
      if dice.chance(40) {
        let actions =
          key == "phone"
          ? ["callback", "[access, callback]"]
          : ["access", "callback", "[callback, access]", "[ticket, access]"]
        parts.append("on: \(dice.one(of: actions))")
      }
      // The configuration refuses a rule that no request can match. Every caller may use the app `open`.
      let hasCallers = dice.chance(30)
      if hasCallers { parts.append("callers: \(dice.some(of: Self.callers))") }
      if dice.chance(25) {
        var apps = Self.apps.filter { _ in dice.chance(30) }
        if apps.isEmpty || hasCallers && !apps.contains("open") { apps.append("open") }
        parts.append("apps: [\(apps.joined(separator: ", "))]")
      }
    }
    parts.append("mode: \(dice.one(of: ["enforce", "enforce", "enforce", "audit", "off"]))")
    return parts.joined(separator: ", ")
  }

  private func zone(_ dice: inout SeededGenerator) -> String {
    dice.one(of: [
      "UTC", "Europe/Lisbon", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
      "Africa/Casablanca",
    ])
  }

  private func hours(_ dice: inout SeededGenerator) -> String {
    guard !isLive else {
      return "timezone: UTC, "
        + dice.one(of: ["weekly: { mon-sun: \"00:00-24:00\" }", "open: { \"2199-01-01\": \"09:00-12:00\" }"])
    }
    let windows = dice.one(of: [
      "\"09:00-18:00\"", "[\"08:00-12:00\", \"13:00-17:30\"]", "\"22:00-02:30\"", "\"00:00-24:00\"",
      "[\"00:00-01:30\", \"02:15-23:59\"]",
    ])
    let days = dice.one(of: ["mon-fri", "mon-sun", "fri-mon", "\"tue,thu,sat\""])
    return "timezone: \(zone(&dice)), weekly: { \(days): \(windows) }, "
      + "closed: \(dice.some(of: ["2026-03-29", "2026-11-01", "2026-12-25", "2027-01-01"])), "
      + "open: { 2026-12-24: \"09:00-12:00\", 2026-10-25: [\"00:30-01:30\"] }"
  }
}

/// A random request, as a client could send it.
struct RandomRequest {
  var action = Gate.Action.access
  var caller: String?
  var subject: String?
  var app: String?
  var address = ""
  var phone: String?
  /// A JSON object.
  var claims = "{}"
  var fields: [(name: String, value: String)] = []
  var instant = Instant(seconds: 0)

  init(_ dice: inout SeededGenerator) {
    action = dice.one(of: [.access, .access, .callback, .callback, .ticket])
    let caller = dice.one(of: RandomRules.callers)
    self.caller = caller == "anonymous" ? nil : caller
    if caller == "app-users" {
      subject = dice.one(of: ["ann", "bob", "ios-app"])
      claims = dice.one(of: [
        "{}", #"{"tier":"gold","age":42}"#, #"{"tier":["silver","platinum"],"verified":true}"#,
        #"{"realm_access":{"roles":["staff","admin"]},"tier":"gold","age":"42"}"#,
        #"{"https://shop.example/tier":"gold","verified":"true","realm_access.roles":"staff"}"#,
        #"{"tier":{"gold":"gold"},"age":42.0,"verified":1}"#,
      ])
    }
    // Most callers are listed by some app. No app is called `nope`.
    if dice.chance(50) { app = dice.one(of: RandomRules.apps + (dice.chance(10) ? ["nope"] : [])) }
    address = dice.one(of: [
      "203.0.113.9", "203.0.113.200", "198.51.100.7", "198.51.100.8", "192.0.2.1", "2001:db8::1",
      "2001:db8:1::1",
      "2001:db8:0:0:ffff::2", "::ffff:203.0.113.9",
    ])
    if action == .callback {
      phone = dice.one(of: [
        "+14155550100", "+351912345678", "+447700900123", "+4915112345678", "+19005550100", "+33612345678",
        "+351760123456",
      ])
    }
    if dice.chance(70) {
      fields.append(
        ("X-App-Version", dice.one(of: ["2.3.0", "2.3", "2.2.9", "10", "v3", "2.3.0-beta", "٢.٣"])))
    }
    if dice.chance(10) { fields.append(("x-app-version", "3")) }
    if dice.chance(60) { fields.append(("X-Platform", dice.one(of: ["ios", "android", "iOS", "web"]))) }
    if dice.chance(50) { fields.append(("X-Mode", dice.one(of: ["on", "off", "ON"]))) }
    // Days around clock changes, holidays and ends of months.
    let days = [
      "2026-03-28", "2026-03-08", "2026-10-24", "2026-10-31", "2026-12-23", "2026-12-31", "2026-04-04",
    ]
    let day = Instant(rfc3339: dice.one(of: days) + "T00:00:00Z")?.seconds ?? 0
    instant = Instant(seconds: day + Int64(dice.below(4 * 86_400)), nanoseconds: 0)
  }
}
