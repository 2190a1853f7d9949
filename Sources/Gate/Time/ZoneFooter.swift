// Reads the footer of a time zone's file, which gives the offsets after its last transition.

/// A POSIX TZ string, such as `EST5EDT,M3.2.0,M11.1.0`. Changes may be up to 167 hours before or after
/// midnight (RFC 9636 §3.3.1).
struct ZoneFooter: Sendable {
  /// A change of the clocks once a year.
  struct Change: Sendable {
    /// A day of the year.
    enum Day: Sendable {
      /// 1 to 365; February 29 is not counted.
      case julian(Int)
      /// 0 to 365; February 29 is counted.
      case zeroBased(Int)
      /// A weekday of a month, Sunday being 0; the fifth week is the last.
      case weekday(month: Int, week: Int, day: Int)
    }

    let day: Day
    /// Seconds after that day's midnight, in local time before the change.
    let time: Int64
  }

  /// Standard time, in seconds east of UTC.
  let standard: Int64
  /// Daylight saving time in seconds east of UTC, with the changes to it and back; nil if the clocks never
  /// change.
  let summer: (offset: Int64, start: Change, end: Change)?

  /// Reads the text between the footer's line ends; nil for any other text.
  init?(_ text: some Collection<UInt8>) {
    var reader = Reader(rest: text)
    guard reader.name(), let standard = reader.offset(hours: 24) else { return nil }
    self.standard = -standard
    guard !reader.rest.isEmpty else {
      summer = nil
      return
    }
    guard reader.name() else { return nil }
    var offset = self.standard + 3600
    if reader.rest.first != UInt8(ascii: ",") {
      guard let written = reader.offset(hours: 24) else { return nil }
      offset = -written
    }
    guard reader.skip(","), let start = reader.change(), reader.skip(","), let end = reader.change(),
      reader.rest.isEmpty
    else { return nil }
    summer = (offset, start, end)
  }

  /// The changes of a year, in order: each instant, and the offset from then on.
  func changes(in year: Int) -> [(time: Int64, offset: Int64)] {
    guard let summer else { return [] }
    let start = (time: summer.start.seconds(in: year) - standard, offset: summer.offset)
    let end = (time: summer.end.seconds(in: year) - summer.offset, offset: standard)
    return start.time < end.time ? [start, end] : [end, start]
  }
}

extension ZoneFooter.Change {
  /// The local time of the change, in seconds since 1970.
  func seconds(in year: Int) -> Int64 { Int64(dayNumber(in: year)) * 86_400 + time }

  private func dayNumber(in year: Int) -> Int {
    func date(_ month: Int, _ day: Int) -> Int {
      guard let date = CivilDate(year: year, month: month, day: day) else {
        preconditionFailure("each month has a first and a twenty-eighth day")
      }
      return date.dayNumber
    }
    switch day {
    case .julian(let number):
      let isLeap = date(12, 31) - date(1, 1) == 365
      return date(1, 1) + number - 1 + (isLeap && number >= 60 ? 1 : 0)
    case .zeroBased(let number):
      return date(1, 1) + number
    case .weekday(let month, let week, let day):
      // Monday is 0 in a date, Sunday in the footer.
      let weekday = (day + 6) % 7
      guard week < 5 else {
        let last = (month == 12 ? date(12, 31) : date(month + 1, 1) - 1)
        return last - (CivilDate(dayNumber: last).weekday - weekday + 7) % 7
      }
      let first = date(month, 1)
      return first + (weekday - CivilDate(dayNumber: first).weekday + 7) % 7 + (week - 1) * 7
    }
  }
}

extension ZoneFooter {
  /// Reads the parts of the text, front to back.
  private struct Reader<Text: Collection<UInt8>> {
    var rest: Text.SubSequence

    init(rest: Text) { self.rest = rest[...] }

    mutating func skip(_ mark: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: mark) else { return false }
      rest.removeFirst()
      return true
    }

    /// Reads a name: three or more letters, or in angle brackets three or more letters, digits and signs.
    mutating func name() -> Bool {
      let isQuoted = skip("<")
      let name = rest.prefix {
        $0.isASCIILetter
          || isQuoted && ($0.isASCIIDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-"))
      }
      rest = rest[name.endIndex...]
      return name.count >= 3 && (!isQuoted || skip(">"))
    }

    /// Reads a number of one to three digits within a range.
    mutating func number(_ range: ClosedRange<Int>) -> Int? {
      let digits = rest.prefix(3).prefix { $0.isASCIIDigit }
      guard !digits.isEmpty else { return nil }
      rest = rest[digits.endIndex...]
      let value = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
      return range.contains(value) ? value : nil
    }

    /// Reads `[+-]hh[:mm[:ss]]`, in seconds.
    mutating func offset(hours: Int) -> Int64? {
      let isNegative = skip("-")
      if !isNegative { _ = skip("+") }
      guard var value = number(0...hours) else { return nil }
      value *= 3600
      if skip(":") {
        guard let minutes = number(0...59) else { return nil }
        value += minutes * 60
        if skip(":") {
          guard let seconds = number(0...59) else { return nil }
          // Any number: below 60, and the hours have their bound.
          value += seconds
        }
      }
      return Int64(isNegative ? -value : value)
    }

    /// Reads `Jn`, `n` or `Mm.w.d`, with an optional slash and time. Without a time, the change is at 2:00.
    mutating func change() -> Change? {
      let day: Change.Day
      if skip("M") {
        guard let month = number(1...12), skip("."), let week = number(1...5), skip("."),
          let weekday = number(0...6)
        else { return nil }
        day = .weekday(month: month, week: week, day: weekday)
      } else if skip("J") {
        guard let number = number(1...365) else { return nil }
        day = .julian(number)
      } else {
        guard let number = number(0...365) else { return nil }
        day = .zeroBased(number)
      }
      guard skip("/") else { return Change(day: day, time: 7200) }
      return offset(hours: 167).map { Change(day: day, time: $0) }
    }
  }
}
