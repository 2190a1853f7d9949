// A phone number in international form, and the reasons why a text is not one.

import Texts

/// A phone number in the international form of ITU-T E.164: `+` and 6 to 15 digits, the first not a zero.
///
/// Reading corrects nothing: a number with spaces may not be the number that the sender meant. Printing a
/// number shows its masked form. `text` is the full number: send it, but never log it.
public struct E164: Hashable, Sendable, CustomStringConvertible {
  /// The digits as one number; 15 digits fit.
  let digits: UInt64
  /// The number of digits, 6–15.
  let count: UInt8

  /// Reads a number. Throws what is wrong with the text.
  public init(_ text: String) throws(E164Error) {
    var digits: UInt64 = 0
    var count = 0
    var zeros = 0
    var hasPlus = false
    var hasSeparators = false
    for scalar in text.unicodeScalars {
      switch scalar {
      case "+" where count == 0 && !hasPlus: hasPlus = true
      case "0"..."9":
        if scalar == "0", zeros == count { zeros += 1 }
        count += 1
        if count <= 15 { digits = digits * 10 + UInt64(scalar.value - 0x30) }
      // Includes the blanks and dashes that address books and web pages put between digits.
      case " ", "\t", "\u{A0}", "\u{2009}", "\u{202F}", "-", "\u{2010}"..."\u{2015}", "\u{2212}", ".", "/",
        "(",
        ")":
        hasSeparators = true
      // Address books put invisible direction marks around a number, and a copied number includes them.
      // Formatted pages put curly quotation marks around a number.
      case _ where scalar.isUnseen || scalar.isCurlyQuotationMark: throw .unseen(scalar)
      default: throw .notDigit
      }
    }
    guard !text.isEmpty else { throw .empty }
    guard hasPlus else {
      // 00 is the prefix of international calls in most countries (ITU-T E.123 asks for the plus sign
      // instead).
      guard zeros >= 2 else { throw hasSeparators ? .missingPlusAndSeparators : .missingPlus }
      throw hasSeparators ? .doubleZeroAndSeparators : .doubleZero
    }
    guard !hasSeparators else { throw .separator }
    guard count >= 1 else { throw .tooShort }
    guard zeros == 0 else { throw .leadingZero }
    guard count <= 15 else { throw .tooLong }
    guard count >= 6 else { throw .tooShort }
    self.digits = digits
    self.count = UInt8(count)
  }

  /// The number in full, such as `+14155550123`.
  public var text: String { "+\(digits)" }

  /// The number with all but its last two digits hidden, in the same length: `+*********23`.
  public var masked: String {
    "+" + String(repeating: "*", count: Int(count) - 2) + twoDigits(Int(digits % 100))
  }

  public var description: String { masked }

  /// The digit at an index, counted from the front.
  @inline(__always) func digit(at index: Int) -> Int {
    Int(digits / powersOfTen[Int(count) - 1 - index] % 10)
  }
}

/// The powers of ten from 1 to 10^14, one for each of 15 digits.
let powersOfTen: [UInt64] = (0..<15).map { exponent in (0..<exponent).reduce(1) { value, _ in value * 10 } }

/// Why a text is not an E.164 number. The error never contains the text.
public enum E164Error: Error, Hashable, Sendable {
  case empty, missingPlus, doubleZero, separator, leadingZero, notDigit, tooShort, tooLong
  case missingPlusAndSeparators, doubleZeroAndSeparators
  /// A character that the sender does not see, or a curly quotation mark.
  case unseen(Unicode.Scalar)

  /// The remedy, as a sentence for the sender of the number.
  public var correction: String {
    switch self {
    case .empty: "Give a phone number in E.164 form, such as +14155550123."
    case .missingPlus: "Begin with + and the country calling code, as in +14155550123."
    case .doubleZero: "Write + instead of the leading 00, as in +14155550123."
    case .separator: "Leave out spaces, dashes, dots and brackets, as in +14155550123."
    case .missingPlusAndSeparators:
      "Begin with + and the country calling code, and leave out spaces, dashes, dots and brackets, as in +14155550123."
    case .doubleZeroAndSeparators:
      "Write + instead of the leading 00, and leave out spaces, dashes, dots and brackets, as in +14155550123."
    case .leadingZero: "The country calling code after the + does not begin with 0."
    case .unseen(let scalar):
      "Remove \(scalar.unseenName), and use only + and the digits 0 to 9, as in +14155550123."
    case .notDigit: "Use only + and the digits 0 to 9, as in +14155550123."
    case .tooShort: "Give the whole number with its country calling code: at least 6 digits after the +."
    case .tooLong: "A phone number has at most 15 digits after the +."
    }
  }
}
