// Writes times in RFC 3339 format straight into a buffer, because every audit line needs one.

import Texts

extension UnixTime {
  /// The number of octets that `appendRFC3339` appends.
  public static let rfc3339Count = 24

  /// Appends the time in UTC with milliseconds: `2026-11-20T23:59:59.123Z`. Years 0 to 9999.
  public func appendRFC3339(to output: inout OutputSpan<UInt8>) {
    let days = seconds.flooredQuotient(by: 86_400)
    // The subtraction wraps: on the earliest day, the product does not fit into 64 bits, but the difference
    // does.
    let secondOfDay = seconds &- days &* 86_400
    let (year, month, day) = Self.civilDate(ofDay: days)
    let milliseconds = Int64(nanoseconds / 1_000_000)
    // Eight characters at once, the first one lowest: `2026-11-`, `20T23:59`, `:59.123Z`.
    output.append(
      octetsOf: Self.digits(year / 100) | Self.digits(year % 100) << 16 | Self.octet("-", at: 4)
        | Self.digits(month) << 40 | Self.octet("-", at: 7))
    output.append(
      octetsOf: Self.digits(day) | Self.octet("T", at: 2) | Self.digits(secondOfDay / 3600) << 24
        | Self.octet(":", at: 5) | Self.digits(secondOfDay / 60 % 60) << 48)
    output.append(
      octetsOf: Self.octet(":", at: 0) | Self.digits(secondOfDay % 60) << 8 | Self.octet(".", at: 3)
        | Self.digits(milliseconds / 10) << 32 | UInt64(48 + milliseconds % 10) << 48 | Self.octet("Z", at: 7)
    )
  }

  /// The two digits of a number below 100, the first one lowest.
  @inline(__always) private static func digits(_ number: Int64) -> UInt64 {
    let number = UInt64(truncatingIfNeeded: number)
    // A tenth, exact below 1,000, without a division.
    let tens = (number &* 205) &>> 11
    return 0x3030 &+ tens &+ (number &- tens &* 10) &<< 8
  }

  @inline(__always) private static func octet(_ character: Unicode.Scalar, at index: UInt64) -> UInt64 {
    UInt64(UInt8(ascii: character)) << (8 * index)
  }

  /// Appends the time in UTC with milliseconds: `2026-11-20T23:59:59.123Z`. Years 0 to 9999.
  public func appendRFC3339(to output: inout [UInt8]) {
    output.append(upTo: Self.rfc3339Count) { appendRFC3339(to: &$0) }
  }

  /// The time in UTC with milliseconds.
  public var rfc3339: String {
    var octets: [UInt8] = []
    appendRFC3339(to: &octets)
    return String(decoding: octets, as: UTF8.self)
  }

  /// Year, month and day of a day count since 1970-01-01, in the proleptic Gregorian calendar. Years begin in
  /// March here, so that the leap day is a year's last and needs no case of its own.
  public static func civilDate(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468  // days since 0000-03-01
    let era = shifted.flooredQuotient(by: 146_097)  // 400 years
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    )
  }
}

extension Int64 {
  /// The quotient rounded toward negative infinity.
  fileprivate func flooredQuotient(by divisor: Int64) -> Int64 {
    self >= 0 ? self / divisor : (self + 1) / divisor - 1
  }
}

extension OutputSpan where Element == UInt8 {
  /// Appends a span of nanoseconds in milliseconds with three decimals: `12.345`. A negative span counts as
  /// 0.
  ///
  /// Appends at most 20 octets.
  public mutating func append(millisecondsOf nanoseconds: Int64) {
    let microseconds = Swift.max(0, nanoseconds / 1000)
    append(decimal: UInt64(microseconds / 1000))
    append(UInt8(ascii: "."))
    append(threeDigits: microseconds % 1000)
  }
}
