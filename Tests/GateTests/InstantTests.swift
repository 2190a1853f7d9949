// Tests of how times are read and written.

import Gate
import Testing

struct InstantTests {
  @Test func `an offset is taken into account both ways`() throws {
    #expect(try at("2026-11-22T10:00:00-05:00") == at("2026-11-22T15:00:00Z"))
    #expect(try at("2026-11-22T10:00:00+05:45").rfc3339 == "2026-11-22T04:15:00Z")
    #expect(try at("1970-01-01T00:00:00Z").seconds == 0)
    #expect(try at("2026-11-22T15:00:00.25Z").nanoseconds == 250_000_000)
  }

  @Test(arguments: [
    "2026-11-22", "2026-11-22T10:00:00", "2026-02-30T10:00:00Z", "2026-11-22T24:00:00Z",
    "2026-11-22T10:60:00Z",
    "2026-11-22T10:00:60Z", "2026-11-22T10:00:00.Z", "2026-11-22T10:00:00Zx", "+2026-11-22T10:00:00Z",
  ])
  func `a malformed time is refused`(_ text: String) { #expect(Instant(rfc3339: text) == nil) }

  @Test(arguments: [Int64.min, .min + 1, -1, .max]) func `any instant can be written and moved`(
    seconds: Int64
  ) {
    let instant = Instant(seconds: seconds, nanoseconds: 999_999_999)
    #expect(!instant.rfc3339.isEmpty)
    #expect(instant.advanced(by: .seconds(Int64.max)).seconds >= seconds)
    #expect(instant.advanced(by: .seconds(Int64.min)).seconds <= seconds)
  }

  @Test func `every date from 1600 to 2400 is read back and follows the one before`() throws {
    var day = try #require(CivilDate("1600-01-01")).dayNumber
    let last = try #require(CivilDate("2400-12-31")).dayNumber
    var weekday = CivilDate(dayNumber: day).weekday
    while day <= last {
      let date = CivilDate(dayNumber: day)
      #expect(CivilDate(date.description)?.dayNumber == day && date.weekday == weekday)
      day += 1
      weekday = (weekday + 1) % 7
    }
    #expect(try #require(CivilDate("2026-11-22")).weekday == 6)
    #expect(
      CivilDate("2023-02-29") == nil && CivilDate("2024-02-29") != nil && CivilDate("2100-02-29") == nil)
  }
}
