// Quotas: a fixed number of requests per calendar day, week or month.

public import Documents
import Platform

/// A quota: `limit` requests per calendar period in a time zone.
public struct Quota: Sendable {
  /// The calendar periods.
  public enum Period: String, CaseIterable, Sendable {
    /// From midnight to midnight.
    case day
    /// From Monday to Sunday.
    case week
    /// From the first to the last of a month.
    case month
  }

  /// The number of requests per period.
  public let limit: Int64
  public let period: Period
  /// The time zone in which a period begins at midnight.
  public let zone: Zone
  /// Whether a state is stored until its week and month end, in case a changed rule counts by week or month.
  var outlastsPeriod = true

  /// Creates a quota. Throws if the limit is not 1 to 1,000,000,000.
  public init(limit: Int64, period: Period, zone: Zone = .utc) throws(Refusal) {
    guard (1...1_000_000_000).contains(limit) else {
      throw Refusal(
        at: "limit", "a limit of \(limit) is out of range",
        limit == 0
          ? "give at least 1; to stop all requests, use callgate pause" : "give 1 to 1000000000")
    }
    self.limit = limit
    self.period = period
    self.zone = zone
  }

  // MARK: Taking and giving back

  /// Takes one request, or returns the whole seconds until the next period; nil outside the zone's table.
  public func take(from state: AllowanceState?, at now: Instant) -> AllowanceTaking? {
    guard let current = current(state, at: now) else { return nil }
    guard current.count < limit else {
      return .refused(retryAfter: secondsToEnd(of: current.mark, from: now))
    }
    return .taken(AllowanceState(mark: current.mark, count: current.count + 1))
  }

  /// The state after giving back one request: one request fewer, unless a new period has begun since.
  public func giveBack(to state: AllowanceState?, taken: AllowanceState) -> AllowanceState? {
    guard var state, state.mark == taken.mark, state.count > 0 else { return state }
    state.count -= 1
    return state
  }

  /// The state after taking `used` requests in the period of an instant; nil for 0 requests, and outside the
  /// zone's table.
  public func state(used: Int64, at now: Instant) -> AllowanceState? {
    guard used > 0, let start = periodStart(at: now) else { return nil }
    return AllowanceState(mark: start, count: used)
  }

  /// The remaining requests at an instant, and the limit. Outside the zone's table, none remain.
  public func count(of state: AllowanceState?, at now: Instant) -> AllowanceCount {
    guard let current = current(state, at: now) else {
      return AllowanceCount(limit: limit, window: 86_400, remaining: 0, reset: 1)
    }
    let start = zone.firstInstant(showing: current.mark * 86_400) ?? now.seconds
    let end = zone.firstInstant(showing: dayAfter(period, from: current.mark) * 86_400) ?? now.seconds
    return AllowanceCount(
      limit: limit, window: max(1, end - start), remaining: max(0, limit - current.count),
      reset: secondsToEnd(of: current.mark, from: now))
  }

  /// The first second after the period of a state, in seconds since the epoch; 0 if the state's mark is not a
  /// day of the zone's table, as in the state of a rate.
  public func end(of state: AllowanceState) -> Int64 {
    guard (0..<Zone.covered.upperBound / 86_400).contains(state.mark) else { return 0 }
    return zone.firstInstant(showing: dayAfter(period, from: state.mark) * 86_400) ?? .max
  }

  /// The time from which a store may delete a state, in seconds since the epoch: when the state's period has
  /// ended in every zone. With `outlastsPeriod`, this is when its week and month have ended, in case a
  /// changed rule counts by week or month. 0 if the state's mark is not a day of the zone's table.
  public func expiry(of state: AllowanceState) -> Int64 {
    guard (0..<Zone.covered.upperBound / 86_400).contains(state.mark) else { return 0 }
    let last =
      outlastsPeriod
      ? max(dayAfter(.month, from: state.mark), dayAfter(.week, from: state.mark))
      : dayAfter(period, from: state.mark)
    // No zone is a whole day behind UTC.
    return (last + 1) * 86_400
  }

  // MARK: The calendar

  /// The state of the current period; nil outside the zone's table. A saved period that begins later is used
  /// unchanged: the clock was set back, and used requests stay used. A state more than 400 days ahead is
  /// ignored: it comes from a rate rule that had the same name before a reload.
  private func current(_ state: AllowanceState?, at now: Instant) -> AllowanceState? {
    guard let start = periodStart(at: now) else { return nil }
    guard let state, state.mark >= start, state.mark <= start + 400, state.count >= 0 else {
      return AllowanceState(mark: start, count: 0)
    }
    return state
  }

  /// The day number on which the period of an instant begins; nil outside the zone's table.
  private func periodStart(at now: Instant) -> Int64? {
    guard let local = zone.localSeconds(at: now.seconds) else { return nil }
    return start(of: period, on: local.flooredDivision(by: 86_400).quotient)
  }

  /// The day number on which the period of a day begins.
  private func start(of period: Period, on day: Int64) -> Int64 {
    switch period {
    case .day: return day
    case .week: return day - (day + 3).flooredDivision(by: 7).remainder
    case .month: return day - Int64(CivilDate(dayNumber: Int(day)).parts.day - 1)
    }
  }

  /// The day number on which the next period after a day begins. A saved day need not be the first of a
  /// period, because the rule may have counted by another period before.
  private func dayAfter(_ period: Period, from day: Int64) -> Int64 {
    let start = start(of: period, on: day)
    switch period {
    case .day: return start + 1
    case .week: return start + 7
    case .month:
      // 31 days after the first of a month is the first to the fourth of the next month.
      let next = start + 31
      return next - Int64(CivilDate(dayNumber: Int(next)).parts.day - 1)
    }
  }

  private func secondsToEnd(of start: Int64, from now: Instant) -> Int64 {
    guard let end = zone.firstInstant(showing: dayAfter(period, from: start) * 86_400) else { return 86_400 }
    // The current second counts as a whole second, which rounds up.
    return max(1, end.subtractingClamped(now.seconds))
  }
}
