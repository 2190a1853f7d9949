// Computes when opening hours allow an action for a caller.

import Platform

/// The opening times of an action. An action is open while all opening hours that apply to it are open.
public struct Availability: Hashable, Sendable {
  /// Whether the action is open now.
  public var isOpen: Bool
  /// The time at which `isOpen` changes; nil for never.
  public var nextChange: Instant?
  /// The windows in which the action is open, ascending, at most 256. The current window begins now.
  public var windows: [Window]

  /// A span of time in which the action is open.
  public struct Window: Hashable, Sendable {
    /// The window's first second, and the first second after the window. A window that never closes ends with
    /// the span of the list.
    public var start, end: Instant
  }
}

extension Policy {
  /// The opening times of an action for a caller and an app.
  ///
  /// - Parameters:
  ///   - action: The action that the caller would request.
  ///   - now: The current time.
  ///   - span: How far ahead windows are listed, in seconds. The default is a week.
  public func availability(
    of action: Action, callerID: String?, appID: String?, at now: Instant, span: Int64 = 7 * 86_400
  ) -> Availability {
    let scope = scope(of: action, app: appID, caller: callerID ?? Facts.anonymous)
    let hours = hours(scope)
    let isOpen = isOpen(hours, at: now.seconds)
    let change = nextChange(hours, after: now.seconds)
    var windows: [Availability.Window] = []
    var at = now.seconds
    let horizon = now.seconds.addingClamped(span)
    // Enough for a week of many short windows, and a bound on the work.
    while at < horizon, windows.count < 256 {
      guard let start = nextOpen(from: at, hours), start < horizon else { break }
      guard !hours.isEmpty, let end = nextChange(hours, after: start) else {
        windows.append(.init(start: Instant(seconds: start), end: Instant(seconds: horizon)))
        break
      }
      windows.append(.init(start: Instant(seconds: start), end: Instant(seconds: end)))
      at = end
    }
    return Availability(isOpen: isOpen, nextChange: change.map { Instant(seconds: $0) }, windows: windows)
  }

  /// The indices of the enforced opening hours for a request, and of the rule that is being evaluated
  /// (`extra`), which may be in audit mode.
  func hours(_ scope: RequestScope, including extra: Int? = nil) -> [Int] {
    entries.indices.filter { index in
      guard case .hours = entries[index].question else { return false }
      return index == extra || (entries[index].isEnforced && Self.applies(entries[index], scope))
    }
  }

  /// The first second at or after `seconds` at which all these opening hours are open; nil if none was found.
  func nextOpen(from seconds: Int64, _ hours: [Int]) -> Int64? {
    openings.next(from: seconds, hours, schedule)
  }

  func schedule(_ index: Int) -> Schedule {
    guard case .hours(let schedule) = entries[index].question else {
      preconditionFailure("opening times of another kind of rule")
    }
    return schedule.value
  }

  func isOpen(_ hours: [Int], at seconds: Int64) -> Bool {
    hours.allSatisfy { schedule($0).isOpen(at: seconds) == true }
  }

  private func nextChange(_ hours: [Int], after seconds: Int64) -> Int64? {
    guard isOpen(hours, at: seconds) else { return nextOpen(from: seconds, hours) }
    // The action closes as soon as one of the schedules closes.
    return hours.compactMap { schedule($0).nextChange(after: seconds) }.min()
  }

  /// Groups of enforced opening hours that apply to the same requests but are never open together from now
  /// on. At most 256 combinations are checked.
  /// - Returns: The names of each group's rules, in the order of the policy. A group that contains a smaller
  ///   group is left out.
  public func exclusiveHours(at now: Instant) -> [[String]] {
    let open = entries.indices.filter { index in
      if case .hours = entries[index].question { entries[index].isEnforced } else { false }
    }
    guard open.count > 1 else { return [] }
    var combinations: Set<[Int]> = []
    for action in Action.allCases {
      for app in [nil] + appNames.values.map(Optional.some) {
        for caller in [nil] + callerNames.values.map(Optional.some) {
          let scope = RequestScope(action: action.bit, app: app, caller: caller)
          let hours = open.filter { Self.applies(entries[$0], scope) }
          if hours.count > 1, combinations.count < 256 { combinations.insert(hours) }
        }
      }
    }
    var found: [[Int]] = []
    for hours in combinations.sorted(by: {
      $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count < $1.count
    }) {
      guard !found.contains(where: { Set($0).isSubset(of: hours) }) else { continue }
      if nextOpen(from: now.seconds, hours) == nil { found.append(hours) }
    }
    return found.map { $0.map { entries[$0].name } }
  }
}
