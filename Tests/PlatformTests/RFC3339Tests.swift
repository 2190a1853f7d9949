// Tests of how times are written in RFC 3339 format.

import Glibc
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

  /// A time as the C library formats it.
  private static func written(_ seconds: Int64, _ milliseconds: Int) -> String {
    var (time, parts) = (time_t(seconds), tm())
    gmtime_r(&time, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S.", &parts)
    let rest = String(milliseconds)
    return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
      + String(repeating: "0", count: 3 - rest.count) + rest + "Z"
  }

  @Test func `every day of 400 years, and every second of a day, is written as C's library writes it`() {
    var wrong: [String] = []
    func compare(_ seconds: Int64, _ milliseconds: Int) {
      let own = UnixTime(seconds: seconds, nanoseconds: Int32(milliseconds * 1_000_000)).rfc3339
      if own != Self.written(seconds, milliseconds) { wrong.append(own) }
    }
    for day in 0..<Int64(146_097) { compare(946_684_800 + day * 86_400, Int(day % 1000)) }
    for second in 0..<Int64(86_400) { compare(1_795_132_800 + second, Int(second % 1000)) }
    #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(5))")
  }
}
