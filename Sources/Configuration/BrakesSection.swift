// Reads `callbacks.brakes`, the built-in limits on callbacks and number lookups, from the configuration.

import Documents
import Gate

extension ConfigurationBuilder {
  static let brakesSection = "callbacks.brakes"

  /// The word that switches all brakes off.
  static let brakesOff = "off"

  /// Reads `callbacks.brakes`: a mapping of limits, or `off`. A missing limit keeps its default.
  mutating func brakes() -> Brakes {
    guard let section = partial.sections[Self.brakesSection] else { return Brakes() }
    if case .text(let text, _) = section.content, !section.isNothing {
      guard text == Self.brakesOff else {
        problems.add(
          section.place, Self.brakesSection,
          Refusal(
            "\(quoted(text)) is neither off nor a mapping",
            "write off, or { number_per_day: 6, per_5m: 500, per_hour: 1000, lookups: 500 }"))
        return Brakes()
      }
      return .off
    }
    var brakes = Brakes()
    guard var members = open(section, path: Self.brakesSection) else { return brakes }
    brakes.numberPerDay = members.value(Settings.brakePerDay.key()).map(Int64.init) ?? brakes.numberPerDay
    brakes.perFiveMinutes = members.value(Settings.brakePer5m.key()).map(Int64.init) ?? brakes.perFiveMinutes
    brakes.perHour = members.value(Settings.brakePerHour.key()).map(Int64.init) ?? brakes.perHour
    brakes.lookupsPerHour =
      members.value(Settings.brakeLookups.key()).map(Int64.init) ?? brakes.lookupsPerHour
    close(&members, Self.brakesSection + ".")
    return brakes
  }
}
