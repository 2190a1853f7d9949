// Writes times, lists and values for the sentences that explain a verdict.

import Documents

/// Whether a reason shows the values of claims and headers.
package enum ValueDisclosure {
  /// The reason shows values, for an operator who supplied them.
  case shown
  /// The reason hides values, for a log: a value may be personal, or a secret that a rule compares.
  case hidden
}

extension Zone {
  /// An instant in local time: `Monday 2026-11-23 09:00`, with seconds unless they are zero; nil outside the
  /// zone's table.
  func wallClock(at seconds: Int64) -> String? {
    guard let local = localSeconds(at: seconds) else { return nil }
    let (day, rest) = local.flooredDivision(by: 86_400)
    let date = CivilDate(dayNumber: Int(day))
    let time = Int(rest)
    let names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    let clock = "\(twoDigits(time / 3600)):\(twoDigits(time / 60 % 60))"
    return "\(names[date.weekday]) \(date) \(clock)" + (time % 60 == 0 ? "" : ":\(twoDigits(time % 60))")
  }

  /// An instant in local time and in UTC: `Monday 2026-11-23 09:00 (2026-11-23T14:00:00Z)`.
  func moment(_ seconds: Int64) -> String {
    let utc = Instant(seconds: seconds).rfc3339
    return wallClock(at: seconds).map { "\($0) (\(utc))" } ?? utc
  }
}

/// A span as configurations write it: `500ms`, `1m`, `36h`.
func spanText(nanoseconds: Int64) -> String {
  let units: [(name: String, length: Int64)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000),
    ("ms", 1_000_000),
  ]
  for (name, length) in units where nanoseconds >= length && nanoseconds % length == 0 {
    return "\(nanoseconds / length)\(name)"
  }
  return "\(nanoseconds)ns"
}

/// The maximum number of list items that a reason names.
private let mostListed = 5

/// A list of alternatives: `a, b or c`. A long list ends with the number of the others.
func listed(_ items: [String]) -> String {
  guard items.count > 1 else { return items.first ?? "" }
  guard items.count <= mostListed else {
    return items.prefix(mostListed).joined(separator: ", ") + " or \(items.count - mostListed) more"
  }
  return items.dropLast().joined(separator: ", ") + " or " + items[items.count - 1]
}

extension FactValue {
  /// A value as a reason shows it: short, and without a whole phone number.
  var words: String {
    switch self {
    case .null: "null"
    case .bool(let flag): "\(flag)"
    case .number(let text): String(text.hidingPhoneNumbers.prefix(60))
    case .string(let text): quoted(text.hidingPhoneNumbers)
    case .array(let elements):
      "["
        + elements.prefix(mostListed).map {
          if case .array = $0 { "a list" } else { $0.words }
        }.joined(separator: ", ") + (elements.count > mostListed ? ", …]" : "]")
    case .object: "an object"
    }
  }
}

extension E164 {
  /// The number's first digits, such as `+1900`. At least six digits of the number stay hidden: if the prefix
  /// is longer, its last digits are masked.
  func prefix(_ count: Int) -> String {
    let shown = max(0, min(count, Int(self.count) - 6))
    return "+" + text.dropFirst().prefix(shown) + String(repeating: "*", count: count - shown)
  }
}
