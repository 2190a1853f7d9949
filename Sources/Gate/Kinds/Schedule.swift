// Opening hours: weekly windows, closed dates and special dates, in one time zone.

public import Documents
import Platform

/// A window of opening on the wall clock, in seconds from the midnight on which its day begins.
public struct OpeningWindow: Hashable, Sendable {
  /// The first second that is open, 0–86 399.
  public let start: Int
  /// The first second that is closed again; above 86 400 when the window ends on the next day.
  public let end: Int

  /// A window; an end that is not after its start lies on the next day. Throws where nothing would be open.
  public init(start: Int, end: Int) throws(Refusal) {
    guard (0..<86_400).contains(start), (1...86_400).contains(end) || end == 0, start != end else {
      throw Refusal(
        at: "weekly", "a window must begin between 00:00 and 23:59 and end at another time",
        "for a whole day write \"00:00-24:00\"")
    }
    self.start = start
    self.end = end > start ? end : end + 86_400
  }

  /// Reads `09:00-18:00`, `22:00-02:00` or `00:00-24:00`.
  public init(_ text: String) throws(Refusal) {
    var digits = DigitReader(text)
    guard let startHour = digits.number(of: 2), digits.skip(":"), let startMinute = digits.number(of: 2),
      digits.skip("-"), let endHour = digits.number(of: 2), digits.skip(":"),
      let endMinute = digits.number(of: 2), digits.isAtEnd, startHour < 24, startMinute < 60, endMinute < 60,
      endHour < 24 || (endHour == 24 && endMinute == 0)
    else {
      throw Refusal(
        at: "weekly", "\(quoted(text)) is not a window of time",
        "write it as \"09:00-18:00\"; past midnight as \"22:00-02:00\", a whole day as \"00:00-24:00\"")
    }
    try self.init(start: startHour * 3600 + startMinute * 60, end: endHour * 3600 + endMinute * 60)
  }

  /// The window as `09:00-18:00`.
  public var text: String {
    func clock(_ seconds: Int) -> String { "\(twoDigits(seconds / 3600)):\(twoDigits(seconds / 60 % 60))" }
    return "\(clock(start))-\(clock(end > 86_400 ? end - 86_400 : end))"
  }
}

/// When it is open: an instant is open exactly when the clock on the zone's walls shows a time inside a window.
///
/// So a time that daylight saving skips is never shown, and a window that would begin in it begins with the
/// first time after it; a time that is shown twice is open both times. An end is exclusive. A closed date takes
/// away the windows that begin on it, and a special date replaces them: one that began the evening before
/// stays.
public final class Schedule: Sendable {
  /// The zone whose clock counts.
  public let zone: Zone
  /// The windows of Monday to Sunday.
  private let weekly: [[OpeningWindow]]
  /// Dates with windows of their own (none when closed), ascending by day number.
  private let specialDays: [Int64]
  private let specialWindows: [[OpeningWindow]]

  /// A schedule.
  ///
  /// - Parameters:
  ///   - weekly: seven lists of windows, Monday first.
  ///   - closed: dates on which no window begins.
  ///   - open: dates with windows in place of the weekly ones.
  ///
  /// Throws when windows overlap, a date is both closed and open, or nothing is ever open.
  public init(
    zone: Zone, weekly: [[OpeningWindow]], closed: [CivilDate] = [],
    open: [(date: CivilDate, windows: [OpeningWindow])] = []
  ) throws(Refusal) {
    precondition(weekly.count == 7, "a week has seven days")
    for (day, windows) in weekly.enumerated() {
      try Self.refuseOverlap(in: windows, key: "weekly.\(Self.dayNames[day])")
      let next = (day + 1) % 7
      if let late = windows.first(where: { window in
        weekly[next].contains { $0.start < window.end - 86_400 }
      }) {
        throw Refusal(
          at: "weekly.\(Self.dayNames[day])",
          "the window \"\(late.text)\" overlaps with the windows of the next day",
          "end it where the next one begins")
      }
    }
    var special: [Int: [OpeningWindow]] = [:]
    for date in closed {
      guard special.updateValue([], forKey: date.dayNumber) == nil else {
        throw Refusal(at: "closed", "\(date) is listed twice", "remove one of them")
      }
    }
    for (date, windows) in open {
      try Self.refuseOverlap(in: windows, key: "open.\(date)")
      guard special.updateValue(windows, forKey: date.dayNumber) == nil else {
        throw Refusal(
          at: "open.\(date)", "\(date) is given twice, or is closed as well",
          "keep one entry for each date")
      }
    }
    guard weekly.contains(where: { !$0.isEmpty }) || open.contains(where: { !$0.windows.isEmpty }) else {
      throw Refusal(at: "weekly", "it would never be open", "give at least one day a window")
    }
    self.zone = zone
    self.weekly = weekly
    let days = special.keys.sorted()
    specialDays = days.map(Int64.init)
    specialWindows = days.map { special[$0] ?? [] }
  }

  /// The days' short names, Monday first.
  public static let dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

  private static func refuseOverlap(in windows: [OpeningWindow], key: String) throws(Refusal) {
    let sorted = windows.sorted { $0.start < $1.start }
    for (first, second) in zip(sorted, sorted.dropFirst()) where second.start < first.end {
      throw Refusal(
        at: key, "the windows \"\(first.text)\" and \"\(second.text)\" overlap",
        "merge them, or move one")
    }
  }

  // MARK: Answers

  /// Whether it is open at an instant, in seconds since the epoch; nil where the zone's table ends.
  public func isOpen(at seconds: Int64) -> Bool? {
    zone.localSeconds(at: seconds).map(isOpen(local:))
  }

  /// The first second after an instant at which open turns to closed or closed to open; nil for never.
  public func nextChange(after seconds: Int64) -> Int64? {
    guard var span = zone.span(at: seconds) else { return nil }
    let state = isOpen(local: seconds.addingClamped(span.offset))
    var from = seconds
    while true {
      let search = nextLocalChange(
        after: from + span.offset, differingFrom: state, before: span.end + span.offset)
      switch search {
      case .found(let local): return local - span.offset
      case .never: return nil
      case .notBefore: break
      }
      // The clock is put forward or back here, and may show another state.
      guard let next = zone.span(index: span.index + 1) else { return nil }
      if isOpen(local: next.start + next.offset) != state { return next.start }
      from = next.start
      span = next
    }
  }

  /// The first instant at or after another at which it is open; nil for never.
  public func nextOpen(from seconds: Int64) -> Int64? {
    isOpen(at: seconds) == true ? seconds : nextChange(after: seconds)
  }

  /// Why it is open or closed: the time on the wall, the windows that count then, and when that ends.
  /// - Parameter opening: When all opening hours that concern the request are open again; nil for never. Looked for only
  ///   where it is closed.
  func reason(at seconds: Int64, opening: @autoclosure () -> Int64?) -> String {
    guard let local = zone.localSeconds(at: seconds), let clock = zone.wallClock(at: seconds) else {
      return "the time is outside the years 1970 to 2099 of the time zone data"
    }
    let (day, second) = local.flooredDivision(by: 86_400)
    let time = Int(second)
    let today = windows(of: day)
    let now = "\(clock) in \(zone.name)"
    let current =
      today.first { $0.start <= time && time < $0.end }
      ?? windows(of: day - 1).first { time + 86_400 < $0.end }
    if let current {
      let end = nextChange(after: seconds).map { ", closes \(zone.moment($0))" } ?? ""
      return "\(now) is within \(current.text)" + end
    }
    let isSpecial = specialDays.contains(day)
    let hours =
      today.isEmpty
      ? (isSpecial ? "a closed date" : "a day without opening hours")
      : "outside of \(listed(today.map(\.text)))" + (isSpecial ? ", the hours of this date" : "")
    return "\(now) is \(hours); " + (opening().map { "opens \(zone.moment($0))" } ?? "never opens again")
  }

  // MARK: On the wall clock

  private func isOpen(local: Int64) -> Bool {
    let (day, second) = local.flooredDivision(by: 86_400)
    let time = Int(second)
    for window in windows(of: day) where window.start <= time && time < window.end { return true }
    for window in windows(of: day - 1) where time + 86_400 < window.end { return true }
    return false
  }

  @inline(__always) private func windows(of day: Int64) -> [OpeningWindow] {
    if !specialDays.isEmpty {
      var low = 0
      var high = specialDays.count
      while low < high {
        let middle = (low + high) / 2
        if specialDays[middle] < day { low = middle + 1 } else { high = middle }
      }
      if low < specialDays.count, specialDays[low] == day { return specialWindows[low] }
    }
    // 1970-01-01 was a Thursday.
    return weekly[Int((day + 3).flooredDivision(by: 7).remainder)]
  }

  private enum LocalSearch {
    case found(Int64)
    case notBefore
    case never
  }

  /// Looks along the wall clock for the first time after another at which the state differs.
  private func nextLocalChange(after local: Int64, differingFrom state: Bool, before limit: Int64)
    -> LocalSearch
  {
    var day = local.flooredDivision(by: 86_400).quotient
    // A week without change after the last special date (and the night after it) repeats for ever.
    let lastSpecial = specialDays.last ?? .min
    let repeats = max(day, lastSpecial == .min ? .min : lastSpecial + 1) + 8
    var from = local
    while day * 86_400 < limit {
      guard day <= repeats else {
        // Putting the clock back could still show the last special date once more.
        return local > (lastSpecial == .min ? .min : (lastSpecial + 3) * 86_400) ? .never : .notBefore
      }
      while let boundary = firstBoundary(after: from, on: day) {
        guard boundary < limit else { return .notBefore }
        if isOpen(local: boundary) != state { return .found(boundary) }
        from = boundary
      }
      day += 1
    }
    return .notBefore
  }

  /// The first beginning or end of a window later than a time and shown during a day, or at its closing midnight.
  private func firstBoundary(after local: Int64, on day: Int64) -> Int64? {
    let midnight = day * 86_400
    var first: Int64?
    func consider(_ boundary: Int64) {
      if boundary > local, boundary < first ?? .max { first = boundary }
    }
    for window in windows(of: day) {
      consider(midnight + Int64(window.start))
      if window.end <= 86_400 { consider(midnight + Int64(window.end)) }
    }
    for window in windows(of: day - 1) where window.end > 86_400 {
      consider(midnight - 86_400 + Int64(window.end))
    }
    return first
  }
}
