// A point in time for rules, read and written as RFC 3339 text.

public import Platform

/// A point in time: seconds and nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
public struct Instant: Hashable, Comparable, Sendable {
  /// Whole seconds since the epoch.
  public var seconds: Int64
  /// Nanoseconds within the second, 0–999,999,999.
  public var nanoseconds: Int32

  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// Converts a time of the system's clock.
  public init(_ time: UnixTime) { self.init(seconds: time.seconds, nanoseconds: time.nanoseconds) }

  public static func < (a: Self, b: Self) -> Bool {
    a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds < b.nanoseconds
  }

  /// Nanoseconds since the epoch, clamped to 64 bits (the years 1677 to 2262).
  public var nanosecondsSinceEpoch: Int64 {
    // Any number: 128 bits have room for the product. Clamped alone, a time before 1970 would lose its part
    // of a second.
    Int64(clamping: Int128(seconds) * 1_000_000_000 + Int128(nanoseconds))
  }
}

extension Instant {
  /// Reads an RFC 3339 date and time, `2026-11-22T10:00:00-05:00` or with `Z`; nil for anything else.
  ///
  /// The offset is required, because a time without one is ambiguous. A leap second (`:60`) is refused.
  public init?(rfc3339 text: String) {
    var digits = DigitReader(text)
    guard let year = digits.number(of: 4), digits.skip("-"), let month = digits.number(of: 2),
      digits.skip("-"),
      let day = digits.number(of: 2), let date = CivilDate(year: year, month: month, day: day),
      digits.skip("T") || digits.skip("t") || digits.skip(" "),
      let hour = digits.number(of: 2), hour < 24, digits.skip(":"), let minute = digits.number(of: 2),
      minute < 60, digits.skip(":"), let second = digits.number(of: 2), second < 60
    else { return nil }
    var nanoseconds = 0
    if digits.skip(".") {
      guard let fraction = digits.fraction() else { return nil }
      nanoseconds = fraction
    }
    var offset = 0
    if !(digits.skip("Z") || digits.skip("z")) {
      let east = digits.skip("+")
      guard east || digits.skip("-"), let hours = digits.number(of: 2), hours < 24, digits.skip(":"),
        let minutes = digits.number(of: 2), minutes < 60
      else { return nil }
      offset = (hours * 3600 + minutes * 60) * (east ? 1 : -1)
    }
    guard digits.isAtEnd else { return nil }
    let local = Int64(date.dayNumber) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    self.init(seconds: local - Int64(offset), nanoseconds: Int32(nanoseconds))
  }

  /// The instant as RFC 3339 text in UTC, to the second, `2026-11-22T15:00:00Z`.
  public var rfc3339: String {
    let (days, rest) = seconds.flooredDivision(by: 86_400)
    let date = CivilDate(dayNumber: Int(days))
    let time = Int(rest)
    return
      "\(date)T\(twoDigits(time / 3600)):\(twoDigits(time / 60 % 60)):\(twoDigits(time % 60))Z"
  }
}

/// Reads digits and punctuation from ASCII text, front to back.
struct DigitReader {
  private var rest: Substring.UTF8View

  init(_ text: some StringProtocol) { rest = Substring(text).utf8 }

  /// Whether everything has been read.
  var isAtEnd: Bool { rest.isEmpty }

  /// Reads exactly `count` digits; nil if there are fewer.
  mutating func number(of count: Int) -> Int? {
    var value = 0
    for _ in 0..<count {
      guard let byte = rest.first, (0x30...0x39).contains(byte) else { return nil }
      value = value * 10 + Int(byte - 0x30)
      rest.removeFirst()
    }
    return value
  }

  /// Reads digits after a decimal point as nanoseconds, without those after the ninth; nil if there is no
  /// digit.
  mutating func fraction() -> Int? {
    var value = 0
    var count = 0
    while let byte = rest.first, (0x30...0x39).contains(byte) {
      if count < 9 { value = value * 10 + Int(byte - 0x30) }
      count += 1
      rest.removeFirst()
    }
    guard count > 0 else { return nil }
    for _ in 0..<max(0, 9 - count) { value *= 10 }
    return value
  }

  /// Reads a punctuation mark if it comes next; false otherwise.
  mutating func skip(_ mark: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: mark) else { return false }
    rest.removeFirst()
    return true
  }
}

/// A number below 100 with a leading zero.
func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

extension Int64 {
  /// The quotient rounded down, and the remainder, which is never negative.
  @inline(__always) func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

extension UInt8 {
  /// Whether the byte is an ASCII letter.
  var isASCIILetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
  /// Whether the byte is an ASCII digit.
  var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
}
