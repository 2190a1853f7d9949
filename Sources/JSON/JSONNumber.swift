/// A JSON number, stored as the exact text in which it was written (RFC 8259 §6), so that nothing is rounded.
///
/// Two numbers are equal if their texts are equal, so `1` and `1.0` differ.
public struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
  /// The text, which always matches the grammar of RFC 8259 §6.
  public let text: String

  public var description: String { text }

  public init(_ value: Int64) { text = String(value) }

  /// The shortest text that reads back as this double; nil for infinities and NaN, which JSON cannot write.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    text = value.description
  }

  /// Creates a number from a text that the parser has checked.
  init(checked text: String) { self.text = text }

  /// The value if it is written without fraction and exponent and fits 64 bits; `1.0` and `1e3` are nil.
  public var int64: Int64? {
    var magnitude: UInt64 = 0
    var negative = false
    for byte in text.utf8 {
      if byte == UInt8(ascii: "-") {
        negative = true
        continue
      }
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
      guard !overflow, !carry else { return nil }
      magnitude = sum
    }
    if !negative { return Int64(exactly: magnitude) }
    if magnitude == Int64.min.magnitude { return .min }
    return Int64(exactly: magnitude).map { -$0 }
  }

  /// Whether the number is written without fraction and exponent. It may still not fit 64 bits.
  var isInteger: Bool { text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } }

  /// The nearest double; beyond the range of doubles, an infinity or zero of the right sign.
  public var double: Double {
    // The grammar of JSON numbers lies within Swift's, so this reads every text there can be.
    Double(text) ?? .nan
  }
}
