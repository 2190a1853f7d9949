// Reads `numbers.screening`: which results of a lookup at Talkdesk refuse a number.

import Documents
import Gate
import Talkdesk
import Tokens

extension ConfigurationBuilder {
  /// Reads `numbers.screening`. Nil if the section is invalid.
  mutating func screening(_ node: DocumentNode) -> ScreeningSettings? {
    let path = Self.numbersSection + ".screening"
    guard var members = open(node, path: path) else { return nil }
    let before = problems.problems.count
    let (validation, lists) = (members.node("validation"), members.node("do_not_call"))
    var settings = ScreeningSettings()
    settings.remember = members.value(Settings.screeningRemember.key()) ?? settings.remember
    settings.url = members.value(Settings.screeningURL.key())
    if validation == nil, lists == nil {
      members.report(
        Refusal("has nothing to ask", "write validation: { refuse: … } or do_not_call: { lists: […] }"))
    }
    close(&members, path + ".")
    if let validation, var own = open(validation, path: path + ".validation") {
      let refuse = own.node("refuse")
      close(&own, path + ".validation.")
      settings.validation = refusals(refuse, path + ".validation.refuse", in: validation)
    }
    if let lists, var own = open(lists, path: path + ".do_not_call") {
      settings.lists = own.values(Settings.screeningLists.key()) ?? []
      settings.zone = own.value(Settings.screeningZone.key()) ?? .utc
      if own.problems.isEmpty, !(1...10).contains(settings.lists.count) {
        own.report(
          Refusal(at: "lists", "has no list, or more than 10", "name 1 to 10 of Talkdesk's lists by id"))
      }
      close(&own, path + ".do_not_call.")
    }
    return problems.problems.count == before ? settings : nil
  }

  private mutating func refusals(
    _ node: DocumentNode?, _ path: String, in validation: DocumentNode
  ) -> ScreeningSettings.Refusals {
    var refusals = ScreeningSettings.Refusals()
    if let node {
      guard var members = open(node, path: path) else { return refusals }
      refusals.statuses = members.values(Settings.refusedStatuses.key()) ?? []
      refusals.lineTypes = members.values(Settings.refusedLineTypes.key()) ?? []
      refusals.tcpaBlacklist = members.value(Settings.refusesTCPA.key()) ?? false
      refusals.fraudScore = members.value(Settings.refusedScore.key()).map { Int64($0) }
      let isWrong = !members.problems.isEmpty
      close(&members, path + ".")
      guard !isWrong else { return refusals }
    }
    if refusals.isEmpty {
      problems.add(
        (node ?? validation).place, path,
        Refusal("refuses nothing", "give at least one of status, line_type, tcpa_blacklist and fraud_score"))
    }
    return refusals
  }
}

extension Settings {
  static let screeningRemember = TypedSetting(
    Setting(
      "numbers.screening.remember", default: "30d", example: "30d",
      "How long the verdict on a number counts: at most 400 days. `0`: look it up each time."), numberMemory)
  static let screeningURL = TypedSetting(
    Setting(
      "numbers.screening.url", note: "that of callbacks", example: "https://api.talkdeskapp.com",
      "Base URL of Talkdesk's API for phone validation and do-not-call lists."), URLText.base)
  static let refusedStatuses = TypedSetting(
    Setting(
      "numbers.screening.validation.refuse.status[]", example: "high_risk",
      "Results of Talkdesk's phone validation that refuse a number: `safe`, `suspicious` or `high_risk`."),
    TextForm<String> { text throws(Refusal) in
      let status = text.lowercased()
      guard ["safe", "suspicious", "high_risk"].contains(status) else {
        throw Refusal("\(quoted(text)) is not a status", "use safe, suspicious or high_risk")
      }
      return status
    })
  static let refusedLineTypes = TypedSetting(
    Setting(
      "numbers.screening.validation.refuse.line_type[]", example: "premium_rate",
      "Line types that refuse a number, such as `premium_rate`. Case, spaces, `-` and `_` do not matter."
    ),
    TextForm<String> { text throws(Refusal) in
      guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
        throw Refusal("\(quoted(text)) is not a line type", "write one as Talkdesk does: premium_rate")
      }
      return text
    })
  static let refusesTCPA = TypedSetting(
    Setting(
      "numbers.screening.validation.refuse.tcpa_blacklist", default: "false", example: "true",
      "Whether numbers on the TCPA blacklist are refused."), .boolean)
  static let refusedScore = TypedSetting(
    Setting(
      "numbers.screening.validation.refuse.fraud_score", note: "none", example: "85",
      "The lowest fraud score that refuses a number: 0 to 100."), .number(0...100, of: "a fraud score"))
  static let screeningLists = TypedSetting(
    Setting(
      "numbers.screening.do_not_call.lists[]", example: "7f3c2b1a",
      "Ids of at most 10 Talkdesk do-not-call lists whose numbers are refused."),
    NameText.identifier("a list's id"))
  static let screeningZone = TypedSetting(
    Setting(
      "numbers.screening.do_not_call.timezone", default: "UTC", example: "Europe/Lisbon",
      "Time zone in which an entry's last day ends, by its IANA name."),
    TextForm { text throws(Refusal) in try Zone(named: text) })
  static let brakeLookups = TypedSetting(
    Setting(
      "callbacks.brakes.lookups", default: "\(Brakes().lookupsPerHour)", example: "500",
      "Safety limit `brake-lookups`: numbers that `screened` rules look up in an hour."),
    TextForm.number(0...Int(Brakes.maximum), of: "a number of lookups"))

  /// The settings of screening, in the order of the documents.
  static let screening: [Setting] = [
    screeningRemember.setting, screeningURL.setting, refusedStatuses.setting, refusedLineTypes.setting,
    refusesTCPA.setting, refusedScore.setting, screeningLists.setting, screeningZone.setting,
  ]
}
