// A date of the Gregorian calendar, and its number in days since 1970.

import Platform

/// A date of the proleptic Gregorian calendar, without a time or a zone.
public struct CivilDate: Hashable, Sendable, CustomStringConvertible {
  /// Days since 1970-01-01.
  public let dayNumber: Int

  /// The date `dayNumber` days after 1970-01-01.
  public init(dayNumber: Int) { self.dayNumber = dayNumber }

  /// The date with these parts; nil if there is none, such as February 30.
  public init?(year: Int, month: Int, day: Int) {
    guard (1...12).contains(month), (1...31).contains(day) else { return nil }
    // Days from civil, with years that begin in March so that the leap day comes last.
    // https://howardhinnant.github.io/date_algorithms.html
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    dayNumber = era * 146_097 + dayOfEra - 719_468
    guard parts == (year, month, day) else { return nil }
  }

  /// Reads `2026-12-25`; nil for anything else.
  public init?(_ text: String) {
    var digits = DigitReader(text)
    guard let year = digits.number(of: 4), digits.skip("-"), let month = digits.number(of: 2),
      digits.skip("-"),
      let day = digits.number(of: 2), digits.isAtEnd
    else { return nil }
    self.init(year: year, month: month, day: day)
  }

  /// Year, month 1–12 and day 1–31.
  public var parts: (year: Int, month: Int, day: Int) {
    let (year, month, day) = UnixTime.civilDate(ofDay: Int64(dayNumber))
    return (Int(year), Int(month), Int(day))
  }

  /// The day of the week, Monday being 0.
  public var weekday: Int {
    let day = (dayNumber + 3) % 7
    return day < 0 ? day + 7 : day
  }

  public var description: String {
    let (year, month, day) = parts
    let digits = String(abs(year))
    let padded = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    return "\(year < 0 ? "-" : "")\(padded)-\(twoDigits(month))-\(twoDigits(day))"
  }
}
