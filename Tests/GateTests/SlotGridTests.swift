// Tests of slots: where days begin and end when clocks change, compared with Python's time zone data.

import Foundation
import Gate
import Testing

struct SlotGridTests {
  /// A line of Tests/Fixtures/hours/days.txt.
  struct Year: CustomTestStringConvertible {
    let zone: String
    /// The times at which the year's days begin, and the end of the last day.
    var midnights: [Int64]

    init?(_ line: Substring) {
      let words = line.split(separator: " ")
      guard words.count > 2, let first = Int64(words[1]) else { return nil }
      zone = String(words[0])
      midnights = [first * 60]
      for run in words.dropFirst(2) {
        let parts = run.split(separator: "x").compactMap { Int64($0) }
        for _ in 0..<(parts.count > 1 ? parts[1] : 1) {
          midnights.append((midnights.last ?? 0) + parts[0] * 60)
        }
      }
    }

    var testDescription: String { "\(zone) from \(midnights[0])" }

    static let all: [Year] = {
      guard let text = try? String(contentsOf: fixture("hours/days.txt"), encoding: .utf8) else {
        preconditionFailure("the fixture is a part of the checkout")
      }
      return text.split(separator: "\n").compactMap(Year.init)
    }()
  }

  @Test func `no line of the fixture is left out`() {
    #expect(Year.all.count == 16)
    #expect(Year.all.filter { $0.midnights.count < 365 }.isEmpty)
  }

  @Test(arguments: Year.all)
  func `every slot of a year agrees with Python's zoneinfo`(_ year: Year) throws {
    let zone = try Zone(named: year.zone)
    // Slots of 7 hours and of 4,999 seconds do not end at midnight.
    for length: Int64 in [900, 4999, 25_200, 86_400] {
      let grid = SlotGrid(zone: zone, length: length)
      var wrong = 0
      for (midnight, next) in zip(year.midnights, year.midnights.dropFirst()) {
        for start in stride(from: midnight, to: next, by: Int(length)) {
          let slot = Slot(start: start, end: min(start + length, next))
          let middle = (start + slot.end) / 2
          if grid.slot(at: start) != slot || grid.slot(at: slot.end - 1) != slot { wrong += 1 }
          if grid.slot(at: middle).flatMap(grid.next)?.start != slot.end { wrong += 1 }
        }
      }
      #expect(wrong == 0, "slots of \(length) s")
    }
  }

  @Test(arguments: [
    // Four hours later it is five o'clock, and the last slot has three hours.
    ("America/New_York", "2026-03-08T08:59:59Z", "2026-03-08T05:00:00Z", "2026-03-08T09:00:00Z"),
    ("America/New_York", "2026-03-09T03:59:59Z", "2026-03-09T01:00:00Z", "2026-03-09T04:00:00Z"),
    // 25 hours make six slots of four hours and one of an hour.
    ("Europe/Lisbon", "2026-10-25T23:59:59Z", "2026-10-25T23:00:00Z", "2026-10-26T00:00:00Z"),
    // 29 December ends where the 31st begins.
    ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-30T06:00:00Z", "2011-12-30T10:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T14:00:00Z"),
    // There is no midnight: the day begins at one o'clock.
    ("America/Santiago", "2026-09-06T04:00:00Z", "2026-09-06T04:00:00Z", "2026-09-06T08:00:00Z"),
    ("Africa/Cairo", "2026-04-23T22:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T02:00:00Z"),
    // The clock shows midnight again an hour later, within the first slot.
    ("America/Havana", "2026-11-01T05:00:00Z", "2026-11-01T04:00:00Z", "2026-11-01T08:00:00Z"),
    // The clock goes back to the evening before.
    ("America/St_Johns", "2010-11-07T03:00:00Z", "2010-11-07T02:30:00Z", "2010-11-07T06:30:00Z"),
    ("Asia/Kathmandu", "2026-11-22T18:15:00Z", "2026-11-22T18:15:00Z", "2026-11-22T22:15:00Z"),
    // The leap day.
    ("Europe/Lisbon", "2028-02-29T23:59:59Z", "2028-02-29T20:00:00Z", "2028-03-01T00:00:00Z"),
  ])
  func `slots of four hours on days that are odd`(zone: String, time: String, start: String, end: String)
    throws
  {
    let grid = SlotGrid(zone: try Zone(named: zone), length: 14_400)
    let slot = try #require(try grid.slot(at: at(time).seconds))
    #expect(slot == (try Slot(start: at(start).seconds, end: at(end).seconds)))
  }

  @Test func `there are no slots where the zone's table ends`() throws {
    let grid = SlotGrid(zone: .utc, length: 900)
    #expect(try grid.slot(at: at("2099-12-30T23:59:59Z").seconds) != nil)
    #expect(try grid.slot(at: at("2100-01-01T00:00:00Z").seconds) == nil)
    #expect(grid.slot(at: -1) == nil)
  }
}
