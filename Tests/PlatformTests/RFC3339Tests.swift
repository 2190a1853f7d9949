// Tests of how times are written in RFC 3339 format.

import Platform
import Testing

@Suite struct RFC3339Tests {
  @Test(
    arguments: [
      (0, 0, "1970-01-01T00:00:00.000Z"),
      (951_782_400, 1_000_000, "2000-02-29T00:00:00.001Z"),
      (1_709_251_199, 999_999_999, "2024-02-29T23:59:59.999Z"),
      (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
      (1_795_219_199, 123_456_789, "2026-11-20T23:59:59.123Z"),
      (-1, 0, "1969-12-31T23:59:59.000Z"),
    ] as [(Int64, Int32, String)])
  func `a point in time is written as RFC 3339 in UTC`(seconds: Int64, nanoseconds: Int32, text: String) {
    #expect(UnixTime(seconds: seconds, nanoseconds: nanoseconds).rfc3339 == text)
  }
}
