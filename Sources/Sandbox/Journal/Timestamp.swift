import Platform

extension UnixTime {
  /// The time as RFC 3339 writes it, in UTC, to the millisecond.
  var rfc3339: String {
    let secondsOfDay = ((seconds % 86_400) + 86_400) % 86_400
    let (year, month, day) = Self.civilDate(daysSinceEpoch: (seconds - secondsOfDay) / 86_400)
    let fraction = Self.digits(Int64(nanoseconds) / 1_000_000, 3)
    return Self.digits(year, 4) + "-" + Self.digits(month, 2) + "-" + Self.digits(day, 2) + "T"
      + Self.digits(secondsOfDay / 3600, 2) + ":" + Self.digits(secondsOfDay / 60 % 60, 2) + ":"
      + Self.digits(secondsOfDay % 60, 2) + "." + fraction + "Z"
  }

  /// The date of the proleptic Gregorian calendar, by counting in eras of 400 years that begin in March.
  private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let days = daysSinceEpoch + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    )
  }

  private static func digits(_ number: Int64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
