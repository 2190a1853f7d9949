import Platform
import Testing

@testable import Sandbox

@Suite struct TimestampTests {
  @Test(arguments: [
    (0, 0, "1970-01-01T00:00:00.000Z"), (951_782_400, 5_999_999, "2000-02-29T00:00:00.005Z"),
    (1_800_000_000, 0, "2027-01-15T08:00:00.000Z"), (4_107_542_399, 999_000_000, "2100-02-28T23:59:59.999Z"),
    (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"), (-1, 0, "1969-12-31T23:59:59.000Z"),
  ])
  func `a time is written as RFC 3339 has it`(seconds: Int64, nanoseconds: Int32, text: String) {
    #expect(UnixTime(seconds: seconds, nanoseconds: nanoseconds).rfc3339 == text)
  }
}
