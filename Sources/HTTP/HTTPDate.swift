/// Writes times in the format of the `Date` field: IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110
/// §5.6.7).
public enum HTTPDate {
  private static let weekdays = "SunMonTueWedThuFriSat"
  private static let months = "JanFebMarAprMayJunJulAugSepOctNovDec"

  /// The date for a number of seconds since 1970. Times outside the years 1 to 9999 are clamped.
  public static func string(unixSeconds: Int64) -> String {
    var octets: [UInt8] = []
    append(unixSeconds: unixSeconds, to: &octets)
    return String(decoding: octets, as: UTF8.self)
  }

  /// Appends the 29 octets of the date.
  public static func append(unixSeconds: Int64, to octets: inout [UInt8]) {
    // Years 1 to 9999, which have four digits.
    let seconds = Int(min(max(unixSeconds, -62_135_596_800), 253_402_300_799))
    let days = floorDivide(seconds, 86_400)
    // Any number: seconds of a day.
    let time = seconds - days * 86_400
    let (year, month, day) = civil(days)
    // 1970-01-01 was a Thursday.
    let weekday = (days % 7 + 11) % 7
    append(name: weekday, of: weekdays, to: &octets)
    octets.append(literal: ", ")
    append(day, digits: 2, to: &octets)
    octets.append(0x20)
    append(name: month - 1, of: months, to: &octets)
    octets.append(0x20)
    append(year, digits: 4, to: &octets)
    octets.append(0x20)
    append(time / 3600, digits: 2, to: &octets)
    octets.append(UInt8(ascii: ":"))
    append(time / 60 % 60, digits: 2, to: &octets)
    octets.append(UInt8(ascii: ":"))
    append(time % 60, digits: 2, to: &octets)
    octets.append(literal: " GMT")
  }

  private static func append(_ number: Int, digits: Int, to octets: inout [UInt8]) {
    var divisor = digits == 4 ? 1000 : 10
    while divisor > 0 {
      octets.append(UInt8(truncatingIfNeeded: 0x30 + number / divisor % 10))
      divisor /= 10
    }
  }

  private static func append(name index: Int, of names: String, to octets: inout [UInt8]) {
    octets.append(contentsOf: names.utf8.dropFirst(index * 3).prefix(3))
  }

  private static func floorDivide(_ a: Int, _ b: Int) -> Int { (a >= 0 ? a : a - b + 1) / b }

  /// The proleptic Gregorian date of a number of days since 1970 (H. Hinnant, "chrono-compatible low-level
  /// date algorithms": eras of 400 years that begin on 1 March).
  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}
