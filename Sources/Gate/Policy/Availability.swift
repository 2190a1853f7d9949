// When it is open, as everyone may know: all schedules that concern an action taken together.

/// Whether it is open, until when, and when it will be.
public struct Availability: Hashable, Sendable {
  /// Whether it is open now.
  public var isOpen: Bool
  /// When that changes; nil for never.
  public var nextChange: Instant?
  /// The coming spans of time in which it is open, the current one included, ascending.
  public var windows: [Window]

  /// A span of time in which it is open.
  public struct Window: Hashable, Sendable {
    /// Its first second, and the first second after it.
    public var start, end: Instant
  }
}

extension Policy {
  /// When a caller finds it open, as far as opening hours say.
  ///
  /// - Parameters:
  ///   - action: what the caller wants.
  ///   - now: the time.
  ///   - span: how many seconds ahead windows are listed; a week.
  public func availability(
    of action: Action, callerID: String?, appID: String?, at now: Instant, span: Int64 = 7 * 86_400
  ) -> Availability {
    let concern = concern(of: action, app: appID, caller: callerID ?? Facts.anonymous)
    let schedules = schedules(concern)
    let isOpen = Self.isOpen(schedules, at: now.seconds)
    let change = Self.nextChange(schedules, after: now.seconds)
    var windows: [Availability.Window] = []
    var at = now.seconds
    let horizon = now.seconds + span
    // Enough for a week of many short windows, and a bound on the work.
    while at < horizon, windows.count < 256 {
      guard let start = Self.nextOpen(schedules, from: at), start < horizon else { break }
      guard !schedules.isEmpty, let end = Self.nextChange(schedules, after: start) else {
        windows.append(.init(start: Instant(seconds: start), end: Instant(seconds: horizon)))
        break
      }
      windows.append(.init(start: Instant(seconds: start), end: Instant(seconds: end)))
      at = end
    }
    return Availability(isOpen: isOpen, nextChange: change.map { Instant(seconds: $0) }, windows: windows)
  }

  /// The next instant at which a schedule and all enforced ones that concern a request are open.
  func nextOpen(from seconds: Int64, _ concern: Concern, including schedule: Schedule) -> Int64? {
    Self.nextOpen(schedules(concern) + [schedule], from: seconds)
  }

  /// The enforced opening hours that concern a request.
  func schedules(_ concern: Concern) -> [Schedule] {
    var schedules: [Schedule] = []
    for entry in entries where entry.isEnforced && Self.concerns(entry, concern) {
      if case .hours(let schedule) = entry.question { schedules.append(schedule.value) }
    }
    return schedules
  }

  private static func isOpen(_ schedules: [Schedule], at seconds: Int64) -> Bool {
    schedules.allSatisfy { $0.isOpen(at: seconds) == true }
  }

  /// How many openings are tried before schedules are taken to exclude each other for ever.
  private static let mostAttempts = 4000

  private static func nextOpen(_ schedules: [Schedule], from seconds: Int64) -> Int64? {
    var at = seconds
    for _ in 0..<mostAttempts {
      var latest = at
      for schedule in schedules {
        guard let opening = schedule.nextOpen(from: latest) else { return nil }
        latest = opening
      }
      if latest == at { return at }
      at = latest
    }
    return nil
  }

  private static func nextChange(_ schedules: [Schedule], after seconds: Int64) -> Int64? {
    guard isOpen(schedules, at: seconds) else { return nextOpen(schedules, from: seconds) }
    // It closes with the first of them.
    return schedules.compactMap { $0.nextChange(after: seconds) }.min()
  }
}
