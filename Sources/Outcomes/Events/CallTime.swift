// Parses times and durations as Talkdesk writes them.

package import Gate

/// The formats of times and durations in Talkdesk's events.
package enum CallTime {
  /// The longest duration, in seconds: one week.
  private static let longest = 604_800.0

  /// A duration in seconds, with or without a fraction: `12`, `12.0`; nil for anything else.
  package static func seconds(_ text: String) -> Double? {
    guard text.utf8.count <= 24, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
      let seconds = Double(text), (0...longest).contains(seconds)
    else { return nil }
    return seconds
  }

  /// The whole seconds of a duration, rounded up. Nil for a part of a second, which may be the fraction of a
  /// day in an older format of Talkdesk.
  package static func whole(_ seconds: Double) -> Int? {
    // Any number: a week at most.
    seconds > 0 && seconds < 1 ? nil : Int(seconds.rounded(.up))
  }

  /// A time: RFC 3339, `2026-11-23 10:00:00` as UTC, or seconds since the epoch.
  package static func instant(_ text: String) -> Instant? {
    guard text.utf8.count <= 40 else { return nil }
    if let time = Instant(rfc3339: text) { return time }
    if text.utf8.count == 19, let blank = text.firstIndex(of: " ") {
      return Instant(rfc3339: text[..<blank] + "T" + text[text.index(after: blank)...] + "Z")
    }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let seconds = Double(text),
      (0...253_402_300_799).contains(seconds)
    else { return nil }
    let (whole, part) = (seconds.rounded(.down), seconds.truncatingRemainder(dividingBy: 1))
    // Any number: both values have limits above.
    return Instant(seconds: Int64(whole), nanoseconds: Int32(part * 1e9))
  }
}
