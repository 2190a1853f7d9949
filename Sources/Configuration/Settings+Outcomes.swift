// Declares the settings of call outcomes: Talkdesk's webhook, and how calls are matched to callbacks.

import Documents
import Gate
import Outcomes

extension Settings {
  static let outcomesURL = TypedSetting(
    Setting(
      "outcomes.external_url", note: "the first of `external_urls`", example: "https://calls.example.com",
      "URL under which Talkdesk reaches this server, for the webhook."),
    URLText.base)
  static let outcomesAPI = TypedSetting(
    Setting(
      "outcomes.url", note: "that of callbacks", example: "https://api.talkdeskapp.com",
      "Base URL of Talkdesk's API for triggers and reports."),
    URLText.base)
  static let outcomeSecret = TypedSetting(
    Setting(
      "outcomes.hook.secret_file", .secret, example: "/run/secrets/outcomes",
      "Secret of the webhook for call events: at least 32 random bytes."), secretText)
  static let previousOutcomeSecret = TypedSetting(
    Setting(
      "outcomes.hook.previous_secret_file", .secret, example: "/run/secrets/outcomes-previous",
      "Previous secret, accepted until you replace its triggers."), secretText)
  static let outcomeTriggers = TypedSetting(
    Setting(
      "outcomes.triggers", .list, note: "`outboundCallEnds`, `inboundCallEnds`", example: "outboundCallEnds",
      "Talkdesk triggers to register and accept events from."), TextForm<CallTrigger>.choice)
  static let reportAt = TypedSetting(
    Setting(
      "outcomes.report.at", note: "none", example: "03:30",
      "Time of day at which the server requests Talkdesk's report of new calls."),
    TextForm { text throws(Refusal) in
      let parts = text.utf8.split(separator: 0x3A, omittingEmptySubsequences: false)
      let numbers = parts.compactMap { part in
        part.count == 2 && part.allSatisfy { (0x30...0x39).contains($0) } ? Int64(String(part) ?? "") : nil
      }
      guard parts.count == 2, numbers.count == 2, numbers[0] < 24, numbers[1] < 60 else {
        throw Refusal("\(quoted(text)) is not a time of day", "write it as \"03:30\"")
      }
      return numbers[0] * 3600 + numbers[1] * 60
    })
  static let reportZone = TypedSetting(
    Setting(
      "outcomes.report.timezone", default: "UTC", example: "Europe/Lisbon",
      "Time zone of `at`, by its IANA name."),
    TextForm { text throws(Refusal) in try Zone(named: text) })
  static let matchBefore = TypedSetting(
    Setting(
      "outcomes.match.before", default: "10s", example: "10s",
      "How long before the handover to Talkdesk a callback's call may begin."),
    .duration(.zero ... .seconds(600)))
  static let matchAfter = TypedSetting(
    Setting(
      "outcomes.match.after", default: "2h", example: "2h",
      "How long after the handover a callback's call may begin."),
    .duration(.seconds(60) ... .seconds(86_400)))
  static let reachedOver = TypedSetting(
    Setting(
      "outcomes.reached.over", default: "0s", example: "5s",
      "Talk time above which the customer counts as reached: 0 s to 10 min."),
    .duration(.zero ... .seconds(600)))
  static let reachedEvents = TypedSetting(
    Setting(
      "outcomes.reached.events", .list, note: "all of `outcomes.triggers`", example: "outboundCallEnds",
      "Triggers whose calls count as outcomes, if another leg of the call has a trigger too."),
    TextForm<CallTrigger>.choice)

  /// The settings below `outcomes`, in the order of the documents.
  static let outcomes: [Setting] = [
    outcomesURL.setting, outcomesAPI.setting, outcomeSecret.setting, previousOutcomeSecret.setting,
    outcomeTriggers.setting,
    reportAt.setting, reportZone.setting, matchBefore.setting,
    matchAfter.setting, reachedOver.setting, reachedEvents.setting,
  ]
}
