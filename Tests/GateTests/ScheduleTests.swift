// Tests of opening hours, compared with Python's time zone data for every minute of a year.

import Foundation
import Gate
import TestSupport
import Testing

@testable import Documents

struct ScheduleTests {
  /// The schedule of Tests/Fixtures/hours/generate.py.
  private func fixtureSchedule(_ zone: String) throws -> Schedule {
    let weekly = try [
      ["09:00-18:00"], ["09:00-12:30", "13:15-18:00"], ["00:00-24:00"], ["08:00-09:00", "22:00-02:00"],
      ["10:00-14:00", "23:30-00:30"], ["22:00-02:30"], ["02:40-02:50", "03:00-04:00", "12:00-13:00"],
    ].map { try $0.map { try OpeningWindow($0) } }
    let closed = ["2026-02-15", "2026-03-08", "2026-04-10", "2026-12-25", "2026-07-16"]
    let open = [
      "2026-12-24": ["09:00-12:00"], "2026-03-29": ["00:30-01:30", "02:15-02:45"],
      "2026-11-01": ["01:15-01:45"],
      "2026-10-25": ["01:20-01:40", "23:00-01:00"], "2026-04-05": ["01:30-02:30"],
      "2026-10-04": ["01:50-02:10"], "2026-03-22": ["02:30-03:10"], "2026-02-16": [],
    ]
    return try Schedule(
      zone: Zone(named: zone), weekly: weekly, closed: closed.map { try #require(CivilDate($0)) },
      open: open.map { (try #require(CivilDate($0)), try $1.map { try OpeningWindow($0) }) })
  }

  @Test(arguments: 0..<5)
  func `every minute of 2026 agrees with Python's zoneinfo`(_ index: Int) throws {
    let text = try String(contentsOf: fixture("hours/2026.txt"), encoding: .utf8)
    let words = text.split(separator: "\n")[index].split(separator: " ")
    let schedule = try fixtureSchedule(String(words[0]))
    let start = try at("2026-01-01T00:00:00Z").seconds
    var changes: [Int64] = []
    for word in words.dropFirst(2) { changes.append((changes.last ?? 0) + Int64(try #require(Int64(word)))) }
    #expect(changes.count > 500)
    var expected = words[1] == "open"
    var next = 0
    var wrong = 0
    for minute in Int64(0)..<525_600 {
      if next < changes.count, changes[next] == minute {
        expected.toggle()
        next += 1
      }
      // Minutes around each change, and a sample of those in between.
      let isNear =
        next > 0 && minute - changes[next - 1] <= 1 || next < changes.count && changes[next] - minute <= 1
      guard isNear || minute.isMultiple(of: Int64(spacing(7))) else { continue }
      if schedule.isOpen(at: start + minute * 60) != expected { wrong += 1 }
      // The same holds to the last second of the minute.
      if minute % 7 == 0 {
        if schedule.isOpen(at: start + minute * 60 + 59) != expected { wrong += 1 }
        if next < changes.count,
          schedule.nextChange(after: start + minute * 60 + 30) != start + changes[next] * 60
        {
          wrong += 1
        }
      }
    }
    for (from, to) in zip(changes, changes.dropFirst()) {
      if schedule.nextChange(after: start + from * 60) != start + to * 60 { wrong += 1 }
      if schedule.nextChange(after: start + from * 60 - 1) != start + from * 60 { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test func `the end of a window is closed, its first second open`() throws {
    let schedule = try Schedule(zone: .utc, weekly: week([0, 1, 2, 3, 4], "09:00-18:00"))
    #expect(try schedule.isOpen(at: at("2026-11-20T17:59:59Z").seconds) == true)
    #expect(try schedule.isOpen(at: at("2026-11-20T18:00:00Z").seconds) == false)
    #expect(try schedule.isOpen(at: at("2026-11-20T08:59:59Z").seconds) == false)
    #expect(try schedule.isOpen(at: at("2026-11-20T09:00:00Z").seconds) == true)
    #expect(
      try schedule.nextOpen(from: at("2026-11-20T18:00:00Z").seconds) == at("2026-11-23T09:00:00Z").seconds)
  }

  @Test func `a closed date removes the windows that begin on it, not the evening before`() throws {
    let schedule = try Schedule(
      zone: .utc, weekly: week([0, 1, 2, 3, 4, 5, 6], "22:00-02:00"),
      closed: [try #require(CivilDate("2026-12-25"))])
    #expect(try schedule.isOpen(at: at("2026-12-25T01:59:00Z").seconds) == true)
    #expect(try schedule.isOpen(at: at("2026-12-25T22:30:00Z").seconds) == false)
    #expect(try schedule.isOpen(at: at("2026-12-26T01:00:00Z").seconds) == false)
    #expect(
      try schedule.nextOpen(from: at("2026-12-25T02:00:00Z").seconds) == at("2026-12-26T22:00:00Z").seconds)
  }

  @Test func `what is always open never changes, and a far special date is found`() throws {
    let always = try Schedule(
      zone: Zone(named: "America/New_York"), weekly: week(Array(0..<7), "00:00-24:00"))
    #expect(try always.nextChange(after: at("2026-03-01T00:00:00Z").seconds) == nil)
    let once = try Schedule(
      zone: Zone(named: "America/New_York"), weekly: week([]),
      open: [(try #require(CivilDate("2031-07-04")), [try OpeningWindow("09:00-10:00")])])
    #expect(try once.nextOpen(from: at("2026-03-01T00:00:00Z").seconds) == at("2031-07-04T13:00:00Z").seconds)
    #expect(try once.nextOpen(from: at("2031-07-04T14:00:00Z").seconds) == nil)
  }

  @Test func `where the zone's table ends nothing is open`() throws {
    let always = try Schedule(zone: .utc, weekly: week(Array(0..<7), "00:00-24:00"))
    #expect(try always.isOpen(at: at("2100-01-01T00:00:00Z").seconds) == nil)
    #expect(always.isOpen(at: -1) == nil)
  }

  @Test(arguments: [
    "9:00-18:00", "09:00-18", "09:00–18:00", "24:00-02:00", "09:00-24:01", "09:60-18:00", "09:00-18:60",
    "09:00-25:00", "", "09:00-18:00 ",
  ])
  func `a malformed window is refused`(_ text: String) {
    #expect {
      try OpeningWindow(text)
    } throws: {
      ($0 as? Refusal)?.message.hasSuffix("is not a window of time") == true
    }
  }

  @Test func `a window without time is refused`() {
    #expect(throws: Refusal.self) { try OpeningWindow("09:00-09:00") }
  }

  @Test func `overlapping windows are refused, touching ones are not`() throws {
    #expect(throws: Refusal.self) {
      try Schedule(zone: .utc, weekly: week([0], "09:00-12:00", "11:59-13:00"))
    }
    #expect(throws: Refusal.self) {
      try Schedule(zone: .utc, weekly: week([6, 0], "01:00-03:00", "22:00-01:01"))
    }
    _ = try Schedule(zone: .utc, weekly: week([0], "09:00-12:00", "12:00-13:00"))
    _ = try Schedule(zone: .utc, weekly: week([6, 0], "01:00-03:00", "22:00-01:00"))
  }

  @Test func `a date that is closed and open is refused, and so is never being open`() throws {
    let date = try #require(CivilDate("2026-12-25"))
    let windows = [try OpeningWindow("09:00-10:00")]
    #expect(throws: Refusal.self) {
      try Schedule(zone: .utc, weekly: week([0], "09:00-10:00"), closed: [date], open: [(date, windows)])
    }
    #expect(throws: Refusal.self) { try Schedule(zone: .utc, weekly: week([])) }
  }
}
