// A time zone as a table of offsets that is made once, so that no request waits for Foundation.

public import Documents
import Foundation

/// A time zone of the IANA database, from 1970 to 2100.
///
/// Foundation is asked for the whole table when the zone is made (a few milliseconds) and never again: a
/// lookup is a binary search.
public final class Zone: Sendable {
  /// The zone's name, as `Europe/Lisbon`.
  public let name: String

  /// The first instants of spans with one offset, ascending, and those offsets in seconds east of UTC.
  private let starts: [Int64]
  private let offsets: [Int32]

  /// The instants the table covers, in seconds since the epoch: the years 1970 to 2099.
  static let covered: Range<Int64> = 0..<4_102_444_800

  /// Coordinated Universal Time.
  public static let utc = Zone(name: "UTC", starts: [covered.lowerBound], offsets: [0])

  private init(name: String, starts: [Int64], offsets: [Int32]) {
    self.name = name
    self.starts = starts
    self.offsets = offsets
  }

  /// The zone with an IANA name.
  ///
  /// Throws for a name the database has not, and for abbreviations and bare offsets (`EST`, `GMT+5`), which
  /// Foundation would take but which know no daylight saving time.
  public convenience init(named name: String) throws(Refusal) {
    if name == "UTC" || name == "GMT" {
      self.init(name: name, starts: [Self.covered.lowerBound], offsets: [0])
      return
    }
    let plausible =
      name.utf8.contains(UInt8(ascii: "/")) && name.utf8.count <= 64
      && name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "/_-+".utf8.contains($0) }
    if let city = Self.fixed[name.uppercased()] {
      throw Refusal(
        at: "timezone", "\(quoted(name)) is an abbreviation, not the name of a time zone",
        "use \"\(city)\", or another city with the same time")
    }
    guard plausible, let zone = TimeZone(identifier: name) else {
      throw Refusal(at: "timezone", "there is no time zone \(quoted(name))", Self.remedy(for: name))
    }
    let (starts, offsets) = Self.table(of: zone)
    self.init(name: name, starts: starts, offsets: offsets)
  }

  /// Abbreviations, some of them names of the IANA database, and the zone that is probably meant.
  private static let fixed = [
    "EST": "America/New_York", "EDT": "America/New_York", "CST": "America/Chicago", "CDT": "America/Chicago",
    "MST": "America/Denver", "MDT": "America/Denver", "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles", "HST": "Pacific/Honolulu", "EST5EDT": "America/New_York",
    "CST6CDT": "America/Chicago", "MST7MDT": "America/Denver", "PST8PDT": "America/Los_Angeles",
    "CET": "Europe/Paris", "CEST": "Europe/Paris", "MET": "Europe/Paris", "EET": "Europe/Athens",
    "WET": "Europe/Lisbon", "BST": "Europe/London",
  ]

  private static func remedy(for name: String) -> String {
    let city = name.lowercased().split(separator: "/").last ?? ""
    let known = TimeZone.knownTimeZoneIdentifiers
    let near =
      known.first { $0.lowercased() == name.lowercased() }
      ?? known.first { !city.isEmpty && $0.lowercased().split(separator: "/").last == city }
      ?? Spelling.nearest(to: name, among: known)
    let advice = "give a name of the IANA time zone database, such as \"Europe/Lisbon\" or \"UTC\""
    return near.map { "did you mean \"\($0)\"? Otherwise \(advice)" } ?? advice
  }

  /// The zone's offsets: a sample a day, and a search to the second where two samples differ.
  ///
  /// Foundation's own "next transition" is not asked, because it speaks of daylight saving only and passes
  /// over a country that moves its standard time. No zone has had two changes within a day since 1970.
  private static func table(of zone: TimeZone) -> ([Int64], [Int32]) {
    func offset(at seconds: Int64) -> Int32 {
      Int32(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
    }
    var starts = [covered.lowerBound]
    var offsets = [offset(at: covered.lowerBound)]
    var before = covered.lowerBound
    while before < covered.upperBound {
      let after = min(before + 86_400, covered.upperBound)
      let known = offsets[offsets.count - 1]
      let reached = offset(at: after)
      if reached != known {
        var low = before
        var high = after
        while high - low > 1 {
          let middle = low + (high - low) / 2
          if offset(at: middle) == known { low = middle } else { high = middle }
        }
        starts.append(high)
        offsets.append(reached)
      }
      before = after
    }
    return (starts, offsets)
  }

  // MARK: Lookups

  /// A span of time with one offset.
  struct Span {
    /// Its index in the table.
    var index: Int
    /// Its first second, and the first second after it.
    var start, end: Int64
    /// Seconds east of UTC.
    var offset: Int64
  }

  /// The span that holds an instant; nil outside the table.
  func span(at seconds: Int64) -> Span? {
    guard Self.covered.contains(seconds) else { return nil }
    var low = 0
    var high = starts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= seconds { low = middle } else { high = middle }
    }
    return span(index: low)
  }

  /// The span with an index in the table; nil after the last.
  func span(index: Int) -> Span? {
    guard index < starts.count else { return nil }
    return Span(
      index: index, start: starts[index],
      end: index + 1 < starts.count ? starts[index + 1] : Self.covered.upperBound,
      offset: Int64(offsets[index]))
  }

  /// The local time at an instant, as seconds since 1970-01-01T00:00:00 local; nil outside the table.
  public func localSeconds(at seconds: Int64) -> Int64? {
    guard let span = span(at: seconds) else { return nil }
    return seconds + span.offset
  }

  /// The first instant at which the clock on the wall shows a time or a later one: after a gap, its end.
  func firstInstant(showing local: Int64) -> Int64? {
    // Two days before, in any offset, the clock has not shown it yet.
    guard var span = span(at: max(Self.covered.lowerBound, local - 2 * 86_400)) else { return nil }
    while true {
      let instant = max(span.start, local - span.offset)
      if instant < span.end { return instant }
      guard let next = self.span(index: span.index + 1) else { return nil }
      span = next
    }
  }
}
