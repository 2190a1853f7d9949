// RFC 3339 in UTC, written straight into a buffer.

internal import Platform

/// Dates as logs and answers show them.
enum Timestamp {
  /// Appends a point in time as RFC 3339 in UTC with milliseconds: `2026-11-20T23:59:59.123Z`.
  static func append(_ time: UnixTime, to output: inout [UInt8]) {
    let days = floorDivide(time.seconds, 86_400)
    let secondOfDay = time.seconds - days * 86_400
    let (year, month, day) = civil(fromDays: days)
    appendDigits(year, width: 4, to: &output)
    output.append(UInt8(ascii: "-"))
    appendDigits(month, width: 2, to: &output)
    output.append(UInt8(ascii: "-"))
    appendDigits(day, width: 2, to: &output)
    output.append(UInt8(ascii: "T"))
    appendDigits(secondOfDay / 3600, width: 2, to: &output)
    output.append(UInt8(ascii: ":"))
    appendDigits(secondOfDay / 60 % 60, width: 2, to: &output)
    output.append(UInt8(ascii: ":"))
    appendDigits(secondOfDay % 60, width: 2, to: &output)
    output.append(UInt8(ascii: "."))
    appendDigits(Int64(time.nanoseconds / 1_000_000), width: 3, to: &output)
    output.append(UInt8(ascii: "Z"))
  }

  /// The same as a string.
  static func string(_ time: UnixTime) -> String {
    var bytes: [UInt8] = []
    append(time, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends a number with leading zeros.
  static func appendDigits(_ value: Int64, width: Int, to output: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<width { divisor *= 10 }
    while divisor > 0 {
      output.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }

  /// Year, month and day of a day count since 1970-01-01, in the proleptic Gregorian calendar. Years begin in March
  /// here, so that the leap day is a year's last and needs no case of its own.
  private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468  // days since 0000-03-01
    let era = floorDivide(shifted, 146_097)  // 400 years
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
    a >= 0 ? a / b : (a + 1) / b - 1
  }
}
