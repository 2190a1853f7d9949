// Parses HTTP dates such as `Sun, 06 Nov 1994 08:49:37 GMT`.

extension HTTPDate {
  /// Parses a date to seconds since 1970. Returns nil unless the text is exactly one date from 1970 on, with
  /// the right day of the week. The two obsolete forms are refused.
  public static func unixSeconds(_ text: String) -> Int64? {
    let octets = Array(text.utf8)
    guard octets.count == 29, octets[3...4].elementsEqual(", ".utf8), octets[7] == 0x20, octets[11] == 0x20,
      octets[16] == 0x20, octets[19] == 0x3A, octets[22] == 0x3A, octets[25...].elementsEqual(" GMT".utf8),
      let month = index(of: octets[8..<11], in: "JanFebMarAprMayJunJulAugSepOctNovDec"),
      let weekday = index(of: octets[0..<3], in: "ThuFriSatSunMonTueWed"),
      let day = number(octets[5..<7]), let year = number(octets[12..<16]), let hour = number(octets[17..<19]),
      let minute = number(octets[20..<22]), let second = number(octets[23..<25]),
      (1...31).contains(day), hour < 24, minute < 60, second <= 60, year >= 1970
    else { return nil }
    let days = daysSinceEpoch(year: year, month: month + 1, day: day)
    // Day 0 of the epoch was a Thursday; a date whose parts contradict each other is junk.
    guard days % 7 == weekday, days < daysSinceEpoch(year: year, month: month + 2, day: 1) else { return nil }
    return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
  }

  /// Days from 1970-01-01 in the Gregorian calendar; month 13 is the next January.
  private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
    let (y, m) = month > 12 ? (year + 1, 1) : (year, month)
    // March is counted first so that the leap day comes last.
    let shifted = m > 2 ? y : y - 1
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func index(of name: ArraySlice<UInt8>, in names: String) -> Int? {
    let all = Array(names.utf8)
    return stride(from: 0, to: all.count, by: 3).first { all[$0..<$0 + 3].elementsEqual(name) }.map { $0 / 3 }
  }

  private static func number(_ octets: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for octet in octets {
      guard (0x30...0x39).contains(octet) else { return nil }
      value = value * 10 + Int(octet - 0x30)
    }
    return value
  }
}
