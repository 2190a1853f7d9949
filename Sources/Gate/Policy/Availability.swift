// Tells callers when an action is open, from all opening hours that apply to them.

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
    let places = hours(concern)
    let isOpen = isOpen(places, at: now.seconds)
    let change = nextChange(places, after: now.seconds)
    var windows: [Availability.Window] = []
    var at = now.seconds
    let horizon = now.seconds + span
    // Enough for a week of many short windows, and a bound on the work.
    while at < horizon, windows.count < 256 {
      guard let start = nextOpen(from: at, places), start < horizon else { break }
      guard !places.isEmpty, let end = nextChange(places, after: start) else {
        windows.append(.init(start: Instant(seconds: start), end: Instant(seconds: horizon)))
        break
      }
      windows.append(.init(start: Instant(seconds: start), end: Instant(seconds: end)))
      at = end
    }
    return Availability(isOpen: isOpen, nextChange: change.map { Instant(seconds: $0) }, windows: windows)
  }

  /// The places of the enforced opening hours that concern a request, and one more where an audited rule is asked.
  func hours(_ concern: Concern, including place: Int? = nil) -> [Int] {
    entries.indices.filter { index in
      guard case .hours = entries[index].question else { return false }
      return index == place || (entries[index].isEnforced && Self.concerns(entries[index], concern))
    }
  }

  /// The first second at or after another at which the opening hours at some places are all open; nil for never.
  func nextOpen(from seconds: Int64, _ places: [Int]) -> Int64? {
    openings.next(from: seconds, places, schedule)
  }

  private func schedule(_ place: Int) -> Schedule {
    guard case .hours(let schedule) = entries[place].question else { preconditionFailure("only hours open") }
    return schedule.value
  }

  private func isOpen(_ places: [Int], at seconds: Int64) -> Bool {
    places.allSatisfy { schedule($0).isOpen(at: seconds) == true }
  }

  private func nextChange(_ places: [Int], after seconds: Int64) -> Int64? {
    guard isOpen(places, at: seconds) else { return nextOpen(from: seconds, places) }
    // It closes with the first of them.
    return places.compactMap { schedule($0).nextChange(after: seconds) }.min()
  }

  /// Enforced opening hours that concern the same requests and are never open at the same time.
  /// - Returns: the names of such rules, in their order; nothing that holds another of these lists.
  public func exclusiveHours(at now: Instant) -> [[String]] {
    let hours = entries.indices.filter { index in
      if case .hours = entries[index].question { entries[index].isEnforced } else { false }
    }
    guard hours.count > 1 else { return [] }
    var combinations: Set<[Int]> = []
    for action in Action.allCases {
      for app in [nil] + appNames.values.map(Optional.some) {
        for caller in [nil] + callerNames.values.map(Optional.some) {
          let concern = Concern(action: action.bit, app: app, caller: caller)
          let places = hours.filter { Self.concerns(entries[$0], concern) }
          if places.count > 1, combinations.count < 256 { combinations.insert(places) }
        }
      }
    }
    var found: [[Int]] = []
    for places in combinations.sorted(by: {
      $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count < $1.count
    }) {
      guard !found.contains(where: { Set($0).isSubset(of: places) }) else { continue }
      if nextOpen(from: now.seconds, places) == nil { found.append(places) }
    }
    return found.map { $0.map { entries[$0].name } }
  }
}
