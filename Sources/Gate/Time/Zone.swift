// A time zone as a table of offsets that is read once, so that no request reads a file.

public import Documents
import Platform

/// A time zone of the IANA database, for the years 1970 to 2099.
///
/// The zone's file is read only when the zone is created. A lookup is a binary search in memory.
public final class Zone: Sendable {
  /// The zone's name, such as `Europe/Lisbon`.
  public let name: String

  private let table: ZoneTable

  /// The instants the table covers, in seconds since the epoch: the years 1970 to 2099.
  static let covered: Range<Int64> = 0..<4_102_444_800

  /// Coordinated Universal Time.
  public static let utc = Zone(name: "UTC", ZoneTable(offset: 0, from: covered.lowerBound))

  private init(name: String, _ table: ZoneTable) {
    self.name = name
    self.table = table
  }

  /// The zone with an IANA name.
  ///
  /// Throws if the database does not have the name or its file cannot be read. Names without a slash are
  /// refused, except `UTC` and `GMT`, which need no database. Such names are abbreviations and bare offsets
  /// (`EST`, `GMT+5`), which may lack daylight saving time, or old names.
  public convenience init(named name: String) throws(Refusal) { try self.init(named: name, in: .system) }

  /// The zone with an IANA name, from a folder of zone files.
  convenience init(named name: String, in folder: ZoneFolder) throws(Refusal) {
    if let city = Self.fixed[name.uppercased()] {
      throw Refusal(
        at: "timezone", "\(quoted(name)) is an abbreviation, not the name of a time zone",
        "use \"\(city)\", or another city with the same time")
    }
    let isUniversal = name == "UTC" || name == "GMT"
    self.init(
      name: name, isUniversal ? Self.utc.table : try folder.table(of: name, covering: Self.covered))
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

  // MARK: Lookups

  /// A span of time with one offset.
  struct Span {
    /// The span's index in the table.
    var index: Int
    /// The span's first second, and the first second after it.
    var start, end: Int64
    /// Seconds east of UTC.
    var offset: Int64
  }

  /// The span that contains an instant; nil outside the table.
  func span(at seconds: Int64) -> Span? {
    guard Self.covered.contains(seconds) else { return nil }
    var low = 0
    var high = table.starts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if table.starts[middle] <= seconds { low = middle } else { high = middle }
    }
    return span(index: low)
  }

  /// The span with an index in the table; nil after the last.
  func span(index: Int) -> Span? {
    let starts = table.starts
    guard index < starts.count else { return nil }
    return Span(
      index: index, start: starts[index],
      end: index + 1 < starts.count ? starts[index + 1] : Self.covered.upperBound,
      offset: Int64(table.offsets[index]))
  }

  /// The local time at an instant, in seconds since 1970-01-01T00:00:00 local time; nil outside the table.
  public func localSeconds(at seconds: Int64) -> Int64? {
    guard let span = span(at: seconds) else { return nil }
    return seconds.addingClamped(span.offset)
  }

  /// The first instant at which the local time is `local` or later; nil outside the table. If a change of the
  /// clocks skips `local`, this is the end of the gap.
  package func firstInstant(showing local: Int64) -> Int64? {
    // Two days earlier, the local time is before `local` with any offset.
    guard var span = span(at: max(Self.covered.lowerBound, local - 2 * 86_400)) else { return nil }
    while true {
      let instant = max(span.start, local - span.offset)
      if instant < span.end { return instant }
      guard let next = self.span(index: span.index + 1) else { return nil }
      span = next
    }
  }
}
