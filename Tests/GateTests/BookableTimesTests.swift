// Tests of which times a caller could book.

import Gate
import Testing

@testable import Documents

struct BookableTimesTests {
  private let now = Instant(seconds: 1_795_003_200, nanoseconds: 1)  // 2026-11-18T12:00:00Z, a Wednesday.
  private let terms = BookableTimes.Terms(
    slot: .seconds(900), earliest: .seconds(300), horizon: .seconds(30 * 86_400))

  private func hours(_ zone: String, _ windows: String..., days: [Int] = [0, 1, 2, 3, 4]) throws -> Rule.Kind
  {
    let windows = try windows.map { try OpeningWindow($0) }
    return .hours(
      try Schedule(zone: Zone(named: zone), weekly: (0..<7).map { days.contains($0) ? windows : [] }))
  }

  private func times(
    _ policy: Policy, _ terms: BookableTimes.Terms? = nil, caller: String? = "ios-app", app: String? = nil
  ) -> BookableTimes {
    BookableTimes(policy, callerID: caller, appID: app, terms ?? self.terms, at: now)
  }

  private func texts(_ slots: [Slot]?) -> [String]? { slots?.map { Instant(seconds: $0.start).rfc3339 } }

  @Test func `slots are open at their start and begin within the bounds`() throws {
    let policy = try Policy(rules: [Rule(name: "hours", kind: hours("UTC", "11:00-12:31", "13:00-13:30"))])
    let day = try (at("2026-11-18T00:00:00Z"), at("2026-11-19T00:00:00Z"))
    #expect(
      texts(times(policy).slots(from: day.0, to: day.1, most: 4)) == [
        "2026-11-18T12:15:00Z", "2026-11-18T12:30:00Z", "2026-11-18T13:00:00Z", "2026-11-18T13:15:00Z",
      ])
    #expect(times(policy).slots(from: day.0, to: day.1, most: 3) == nil)
    // The end of the range is exclusive, its beginning is not.
    #expect(
      try texts(
        times(policy).slots(from: at("2026-11-18T12:30:00Z"), to: at("2026-11-18T13:00:00Z"), most: 9))
        == ["2026-11-18T12:30:00Z"])
    #expect(times(policy).slots(from: day.1, to: day.0, most: 0) == [])
  }

  @Test func `the first and the last time that can be booked are exact`() {
    func starts(_ terms: BookableTimes.Terms) -> [String]? {
      texts(
        times(.open, terms).slots(from: Instant(seconds: 0), to: Instant(seconds: 4_000_000_000), most: 9))
    }
    // It is a nanosecond past twelve: the slot of twelve has begun, and 13:00 is too early if a booking must
    // be an hour ahead.
    #expect(
      starts(.init(slot: .seconds(3600), earliest: .zero, horizon: .seconds(7200)))
        == ["2026-11-18T13:00:00Z", "2026-11-18T14:00:00Z"])
    #expect(
      starts(.init(slot: .seconds(3600), earliest: .seconds(3600), horizon: .seconds(7200)))
        == ["2026-11-18T14:00:00Z"])
    #expect(
      starts(.init(slot: .seconds(3600), earliest: .seconds(3599), horizon: .seconds(7199)))
        == ["2026-11-18T13:00:00Z"])
  }

  @Test func `the next ones are found beyond nights and weekends, up to the horizon`() throws {
    let policy = try Policy(rules: [Rule(name: "hours", kind: hours("America/New_York", "09:00-09:30"))])
    #expect(
      try texts(times(policy).next(after: at("2026-11-20T14:00:00Z"), most: 3)) == [
        "2026-11-20T14:15:00Z", "2026-11-23T14:00:00Z", "2026-11-23T14:15:00Z",
      ])
    let short = BookableTimes.Terms(slot: .seconds(900), earliest: .zero, horizon: .seconds(4 * 86_400))
    #expect(
      try texts(times(policy, short).next(after: at("2026-11-20T14:00:00Z"), most: 3)) == [
        "2026-11-20T14:15:00Z"
      ])
    // A time that has passed counts as now.
    #expect(texts(times(policy).next(after: Instant(seconds: 0), most: 1)) == ["2026-11-18T14:00:00Z"])
  }

  @Test func `hours that are never open at a start, or never together, end the search`() throws {
    let between = try Policy(rules: [Rule(name: "hours", kind: hours("UTC", "13:01-13:14"))])
    #expect(times(between).next(after: now, most: 3) == [])
    let apart = try Policy(rules: [
      Rule(name: "a", kind: hours("UTC", "08:00-12:00")), Rule(name: "b", kind: hours("UTC", "12:00-18:00")),
    ])
    #expect(times(apart).next(after: now, most: 3) == [])
    #expect(times(apart).slots(from: now, to: Instant(seconds: now.seconds + 86_400), most: 3) == [])
  }

  @Test func `only enforced opening hours of this caller's callbacks count, the first ones for the zone`()
    throws
  {
    let policy = try Policy(rules: [
      Rule(name: "trial", mode: .audit, kind: hours("Asia/Kathmandu", "01:00-02:00")),
      Rule(name: "tokens", actions: [.access], kind: hours("Asia/Tokyo", "01:00-02:00")),
      Rule(name: "others", callers: ["tv"], kind: hours("Australia/Lord_Howe", "09:00-10:00")),
      Rule(name: "shop", apps: ["shop"], kind: hours("Asia/Kolkata", "18:00-22:00")),
      Rule(name: "mine", kind: hours("UTC", "12:00-14:00")),
    ])
    #expect(policy.slotZone(callerID: "ios-app", appID: nil).name == "UTC")
    #expect(policy.slotZone(callerID: "tv", appID: "shop").name == "Australia/Lord_Howe")
    #expect(policy.slotZone(callerID: nil, appID: "shop").name == "Asia/Kolkata")
    #expect(Policy.open.slotZone(callerID: nil, appID: nil).name == "UTC")
    // 18:00 in Kolkata is 12:30 in UTC, where days begin at 18:30.
    let hour = BookableTimes.Terms(slot: .seconds(3600), earliest: .zero, horizon: .seconds(86_400))
    #expect(
      texts(times(policy, hour, app: "shop").next(after: now, most: 9)) == [
        "2026-11-18T12:30:00Z", "2026-11-18T13:30:00Z",
      ])
    #expect(texts(times(policy, hour).next(after: now, most: 1)) == ["2026-11-18T13:00:00Z"])
  }

  @Test func `a time is counted by the slot around it, also beyond the zone's table`() throws {
    let times = times(.open)
    #expect(try times.slot(of: at("2026-11-18T13:14:59Z")).start == at("2026-11-18T13:00:00Z").seconds)
    #expect(try times.slot(of: at("2026-11-18T13:15:00Z")).start == at("2026-11-18T13:15:00Z").seconds)
    let far = Instant(seconds: 5_000_000_000)
    #expect(times.slot(of: far) == Slot(start: far.seconds, end: far.seconds + 900))
  }
}
