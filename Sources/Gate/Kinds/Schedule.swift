// Opening hours: weekly windows, closed dates and special dates, in one time zone.

public import Documents
import Platform

/// A window of opening hours in local time, in seconds after the midnight that begins its day.
public struct OpeningWindow: Hashable, Sendable {
  /// The first open second, 0–86,399.
  public let start: Int
  /// The first closed second after it; above 86,400 if the window ends on the next day.
  public let end: Int

  /// Creates a window. An end before the start is on the next day. Throws if a time is out of range, or if
  /// start and end are equal.
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

/// Opening hours. An instant is open exactly when the local time of the zone is inside a window.
///
/// A local time that daylight saving skips never occurs, so a window that would begin in the gap begins at
/// the first time after it. A local time that occurs twice is open both times. The end of a window is
/// exclusive. A closed date removes the windows that begin on it, and a special date replaces them. A window
/// that began the evening before stays.
public final class Schedule: Sendable {
  /// The time zone of the opening hours.
  public let zone: Zone
  /// The windows of each weekday, Monday first.
  private let weekly: [[OpeningWindow]]
  /// The day numbers of closed and special dates, ascending. `specialWindows` has their windows, none for a
  /// closed date.
  private let specialDays: [Int64]
  private let specialWindows: [[OpeningWindow]]

  /// Creates a schedule. Throws if windows of a date overlap, if windows of a weekday overlap each other or
  /// those of the next weekday, if a date is given twice, or if no day has a window.
  ///
  /// - Parameters:
  ///   - weekly: seven lists of windows, Monday first.
  ///   - closed: dates on which no window begins.
  ///   - open: dates with windows in place of the weekly ones.
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

  /// Whether the schedule is open at an instant, in seconds since the epoch; nil outside the zone's table.
  public func isOpen(at seconds: Int64) -> Bool? {
    zone.localSeconds(at: seconds).map(isOpen(local:))
  }

  /// The first second after an instant at which the schedule opens or closes; nil if it never does, or
  /// outside the zone's table.
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
      // The zone's offset changes here, which may open or close the schedule.
      guard let next = zone.span(index: span.index + 1) else { return nil }
      if isOpen(local: next.start + next.offset) != state { return next.start }
      from = next.start
      span = next
    }
  }

  /// The first second at or after an instant at which the schedule is open; nil if it never opens, or outside
  /// the zone's table.
  public func nextOpen(from seconds: Int64) -> Int64? {
    isOpen(at: seconds) == true ? seconds : nextChange(after: seconds)
  }

  /// The reason for the verdict: the local time, the windows of that day, and when the schedule next opens or
  /// closes.
  /// - Parameter opening: The next time at which all opening hours that apply to the request are open; nil
  ///   for never. Evaluated only if the schedule is closed.
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

  // MARK: Local time

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

  /// Finds the first local time after `local` and before `limit` at which the schedule is not in `state`.
  private func nextLocalChange(after local: Int64, differingFrom state: Bool, before limit: Int64)
    -> LocalSearch
  {
    var day = local.flooredDivision(by: 86_400).quotient
    // After the last special date and the night that follows it, all weeks are alike. If a whole week has no
    // change, no change follows.
    let lastSpecial = specialDays.last ?? .min
    let repeats = max(day, lastSpecial == .min ? .min : lastSpecial + 1) + 8
    var from = local
    while day * 86_400 < limit {
      guard day <= repeats else {
        // If the clocks are put back, part of the last special date may occur once more.
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

  /// The first start or end of a window after a local time and during a day, the midnight at its end
  /// included.
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
