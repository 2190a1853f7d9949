// Tests of which instance requests the report of calls, and for which span.

import Gate
import Store
import TestSupport
import Testing

@testable import Outcomes

@Suite struct ReportTurnTests {
  /// The report was due at 03:30, and it is half a minute later.
  private static let due = Instant(seconds: 1_795_404_600)
  private static let now = due.advanced(by: .seconds(30))
  private static let night = due.advanced(by: .seconds(-86_400))

  private func turn(_ state: ReportState?, at now: Instant = now) -> ReportTurn {
    ReportTurn.next(state, due: Self.due, at: now, as: "b").1
  }

  @Test func `an instance asks from the end of what was read to the time of the report`() {
    let (state, turn) = ReportTurn.next(
      ReportState(readUntil: Self.night), due: Self.due, at: Self.now, as: "b")
    #expect(turn == .asks(from: Self.night, to: Self.due, failed: 0))
    let until = Self.now.advanced(by: .seconds(7200))
    #expect(state == ReportState(readUntil: Self.night, lease: .init(holder: "b", until: until)))
    #expect(ReportTurn.read(state, to: Self.due, as: "b") == ReportState(readUntil: Self.due))
    #expect(self.turn(ReportState(readUntil: Self.due)) == .rests)
  }

  @Test func `a lease keeps others from asking for two hours, and its holder from nothing`() {
    func leased(_ holder: String, _ seconds: Int) -> ReportState {
      ReportState(
        readUntil: Self.night,
        lease: .init(holder: holder, until: Self.now.advanced(by: .seconds(seconds))))
    }
    #expect(turn(leased("a", 1)) == .waits && turn(leased("a", 7200)) == .waits)
    let asks = ReportTurn.asks(from: Self.night, to: Self.due, failed: 0)
    #expect(turn(leased("a", 0)) == asks && turn(leased("b", 7200)) == asks)
    // This lease was written with a wrong clock.
    #expect(turn(leased("a", 86_400)) == asks)
    #expect(ReportTurn.released(leased("a", 1), as: "b") == nil)
    #expect(ReportTurn.released(leased("b", 1), as: "b") == ReportState(readUntil: Self.night))
    #expect(ReportTurn.failed(leased("a", 1), to: Self.due, at: Self.now, as: "b") == nil)
    // An instance that took longer than its lease saves how far it has read, and leaves the other's lease
    // alone.
    let late = ReportTurn.read(leased("a", 60), to: Self.due, as: "b")
    #expect(late?.readUntil == Self.due && late?.lease?.holder == "a")
  }

  @Test func `tries are ten, thirty and sixty minutes apart, and four for a report`() {
    var state: ReportState? = ReportState(readUntil: Self.night)
    var now = Self.now
    for (index, minutes) in [10, 30, 60].enumerated() {
      state = ReportTurn.next(state, due: Self.due, at: now, as: "b").0
      state = ReportTurn.failed(state, to: Self.due, at: now, as: "b")
      let next = now.advanced(by: .seconds(minutes * 60))
      #expect(turn(state, at: next.advanced(by: .seconds(-1))) == .waits)
      #expect(turn(state, at: next) == .asks(from: Self.night, to: Self.due, failed: index + 1))
      now = next
    }
    state = ReportTurn.next(state, due: Self.due, at: now, as: "b").0
    state = ReportTurn.failed(state, to: Self.due, at: now, as: "b")
    #expect(turn(state, at: now.advanced(by: .seconds(7200))) == .rests)
    let next = Self.due.advanced(by: .seconds(86_400))
    #expect(
      ReportTurn.next(state, due: next, at: next, as: "a").1
        == .asks(from: Self.night, to: next, failed: 0))
  }

  @Test func `a time that a wrong clock has noted says nothing`() {
    let week = Self.now.advanced(by: .seconds(-7 * 86_400))
    let future = ReportState(readUntil: Self.now.advanced(by: .seconds(86_400)))
    #expect(turn(future) == .asks(from: week, to: Self.due, failed: 0))
    // The clocks of two instances differ slightly.
    #expect(turn(ReportState(readUntil: Self.now.advanced(by: .seconds(2)))) == .rests)
    let failed = ReportState(
      readUntil: Self.night,
      failures: .init(end: Self.due, count: 1, next: Self.now.advanced(by: .seconds(86_400))))
    #expect(turn(failed) == .asks(from: Self.night, to: Self.due, failed: 1))
  }

  @Test func `the night of 25 hours leaves no hour out, and that of 23 tells none twice`() throws {
    for (first, second, hours) in [
      ("2026-10-31T12:00:00Z", "2026-11-01T12:00:00Z", 25),
      ("2027-03-13T12:00:00Z", "2027-03-14T12:00:00Z", 23),
    ] {
      let report = ReportSettings(second: 3 * 3600 + 1800, zone: try Zone(named: "America/New_York"))
      let (before, now) = (
        try #require(Instant(rfc3339: first)), try #require(Instant(rfc3339: second))
      )
      let one = try #require(report.last(by: before))
      let other = try #require(report.last(by: now))
      #expect(other - one == .seconds(hours * 3600))
      let turn = ReportTurn.next(ReportState(readUntil: one), due: other, at: now, as: "b").1
      #expect(turn == .asks(from: one, to: other, failed: 0))
    }
  }
}
