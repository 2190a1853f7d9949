// Declares and reads the settings for the number of available agents.

import Documents
import Talkdesk

extension Settings {
  static let liveQuery = TypedSetting(
    Setting(
      "availability.live.query", example: "agents-available",
      "Name or id of the Live API query with the number of available agents. `callgate talkdesk queries` lists them."
    ), liveText)
  static let livePath = TypedSetting(
    Setting(
      "availability.live.path", default: "result.value", example: "result.value",
      "Where the event has the number: member names and list indexes, joined by dots."),
    TextForm { text throws(Refusal) in
      let steps = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard (1...8).contains(steps.count), steps.allSatisfy({ (1...64).contains($0.utf8.count) }) else {
        throw Refusal(
          "\(quoted(text)) is not a path", "write 1 to 8 names with dots between them: result.value")
      }
      return steps
    })
  static let liveRingGroup = TypedSetting(
    Setting(
      "availability.live.ring_group", note: "all agents", example: "agents",
      "Ring group or queue whose agents count."), liveText)
  static let liveAtLeast = TypedSetting(
    Setting(
      "availability.live.at_least", default: "1", example: "2",
      "How many agents must be available before the dialog says that an agent is ready."),
    .number(1...1_000_000, of: "a number of agents"))
  static let liveStale = TypedSetting(
    Setting(
      "availability.live.stale", default: "2m", example: "2m",
      "How long a number stays valid. Talkdesk sends one every minute."),
    .duration(.seconds(60) ... .seconds(3600)))

  /// The settings below `availability`, in the order of the documents.
  static let live: [Setting] = [
    liveQuery.setting, livePath.setting, liveRingGroup.setting, liveAtLeast.setting, liveStale.setting,
  ]

  private static let liveText: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw Refusal("is not a name", "write 1 to 128 bytes without control characters")
    }
    return text
  }
}

extension ConfigurationBuilder {
  /// Reads `availability.live`. Nil if nothing in it is set, or if `query` is missing, which is a problem.
  mutating func live() -> LiveSettings? {
    let places = Settings.live.compactMap { partial.entries[$0]?.place }
    var settings = LiveSettings(query: "")
    settings.path = value(Settings.livePath)
    settings.ringGroup = stated(Settings.liveRingGroup)
    settings.atLeast = Int64(value(Settings.liveAtLeast))
    settings.stale = value(Settings.liveStale)
    guard let place = places.first else { return nil }
    guard partial.entries[Settings.liveQuery.setting] != nil else {
      if !partial.meant.contains(Settings.liveQuery.setting.name) {
        problems.add(
          place, Settings.liveQuery.setting.name,
          Refusal("is missing", "name a query that `callgate talkdesk queries` lists"))
      }
      return nil
    }
    settings.query = stated(Settings.liveQuery) ?? ""
    return settings
  }

  /// Whether `availability.live` is configured, valid or not.
  var hasLive: Bool { Settings.live.contains { partial.entries[$0] != nil } }
}
