// Reads `callbacks.brakes`, the built-in limits on callbacks, from the configuration.

import Gate

/// Reads `callbacks.brakes`: figures of their own, or `off`.
extension ConfigurationBuilder {
  /// The section's path.
  static let brakesSection = "callbacks.brakes"

  /// `callbacks.brakes`; what is left out keeps its default.
  mutating func brakes() -> Brakes {
    guard let section = partial.sections[Self.brakesSection] else { return Brakes() }
    if case .text(let text, _) = section.content, !section.isNothing {
      guard text == "off" else {
        problems.add(
          section.place, Self.brakesSection,
          Refusal(
            "\(quoted(text)) is neither off nor a mapping",
            "write off, or { number_per_day: 6, per_5m: 500, per_hour: 1000 }"))
        return Brakes()
      }
      return .off
    }
    var brakes = Brakes()
    guard var members = MemberReader(section, path: Self.brakesSection, into: &problems) else {
      return brakes
    }
    let read = NumberText.reader(0...Int(Brakes.maximum), of: "a number of callbacks")
    if let limit = members.value("number_per_day", into: &problems, read) {
      brakes.numberPerDay = Int64(limit)
    }
    if let limit = members.value("per_5m", into: &problems, read) { brakes.perFiveMinutes = Int64(limit) }
    if let limit = members.value("per_hour", into: &problems, read) { brakes.perHour = Int64(limit) }
    members.finish(into: &problems)
    return brakes
  }
}
