// Decodes form content strictly: refuses mistakes that a lenient server would repair.

import Texts

/// Form content (`application/x-www-form-urlencoded`), decoded strictly. Mistakes that a lenient server would
/// repair are refused, so that they show at once.
public struct Form: Sendable {
  /// A name and its value.
  public struct Parameter: Hashable, Sendable {
    public let name: String
    /// The decoded value; it may be empty.
    public let value: String
  }

  /// The reason why content is not a form.
  public enum Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// A `%` that is not followed by two hexadecimal digits.
    case malformedEscape
    /// An octet that has to be escaped and is not: a control, a space or one beyond ASCII.
    case unescapedOctet
    /// Escapes that decode to something other than UTF-8.
    case notUTF8
    /// A repeated parameter (RFC 6749 §3.2).
    case duplicate(String)
    /// More parameters than `Form.maximumCount`.
    case tooMany

    public var description: String {
      switch self {
      case .malformedEscape: "a % is not followed by two hexadecimal digits"
      case .unescapedOctet: "a byte that has to be escaped is not"
      case .notUTF8: "a value is not UTF-8"
      case .duplicate: "a parameter is repeated"
      case .tooMany: "it has more than \(Form.maximumCount) parameters"
      }
    }
  }

  /// The maximum number of parameters.
  public static let maximumCount = 64

  /// The parameters in their order. No name is repeated.
  public private(set) var parameters: [Parameter] = []

  /// Decodes the content of a form. Empty parts, as in `a=1&&b=2`, are skipped.
  public init(decoding content: [UInt8]) throws(Problem) {
    var rest = content[...]
    var names: Set<ExactText> = []
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? rest.endIndex
      let pair = rest[..<end]
      rest = end < rest.endIndex ? rest[(end + 1)...] : []
      if pair.isEmpty { continue }
      guard parameters.count < Self.maximumCount else { throw .tooMany }
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      let name = try Self.decode(pair[..<equals])
      let value = try Self.decode(equals < pair.endIndex ? pair[(equals + 1)...] : [])
      guard names.insert(ExactText(name)).inserted else { throw .duplicate(name) }
      parameters.append(Parameter(name: name, value: value))
    }
  }

  /// The value of a parameter. A parameter without a value counts as absent (RFC 6749 §3.1).
  public subscript(_ name: String) -> String? {
    parameters.first { $0.name.hasSameBytes(as: name) && !$0.value.isEmpty }?.value
  }

  /// Decodes one name or value.
  public static func decode(_ text: ArraySlice<UInt8>) throws(Problem) -> String {
    var octets: [UInt8] = []
    octets.reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      let octet = text[index]
      switch octet {
      case UInt8(ascii: "+"):
        octets.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard index + 2 < text.endIndex, let high = text[index + 1].hexValue,
          let low = text[index + 2].hexValue
        else { throw .malformedEscape }
        octets.append(high << 4 | low)
        index += 2
      case 0...0x20, 0x7F...0xFF:
        throw .unescapedOctet
      default:
        octets.append(octet)
      }
      index += 1
    }
    guard let string = String(validating: octets, as: UTF8.self) else { throw .notUTF8 }
    return string
  }
}
