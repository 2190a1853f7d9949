// Decodes the form content of a token request strictly, so that client mistakes show in the sandbox.

import HTTP

/// Form content as a token request carries it (`application/x-www-form-urlencoded`), decoded without leniency: what a
/// careless server would repair, the emulator refuses, so that a client's mistake shows here and not at Talkdesk.
struct Form: Sendable {
  /// Why content is no form.
  enum Problem: Error, Hashable, Sendable {
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
  }

  /// How many parameters are taken.
  static let maximumCount = 64

  private var values: [String: String] = [:]

  /// Decodes content.
  init(decoding content: [UInt8]) throws(Problem) {
    var rest = content[...]
    var count = 0
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? rest.endIndex
      let pair = rest[..<end]
      rest = end < rest.endIndex ? rest[(end + 1)...] : []
      if pair.isEmpty { continue }
      count += 1
      guard count <= Self.maximumCount else { throw .tooMany }
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      let name = try Self.decode(pair[..<equals])
      let value = try Self.decode(equals < pair.endIndex ? pair[(equals + 1)...] : [])
      guard values.updateValue(value, forKey: name) == nil else { throw .duplicate(name) }
    }
  }

  /// The value of a parameter. One sent without a value counts as left out (RFC 6749 §3.1).
  subscript(_ name: String) -> String? {
    guard let value = values[name], !value.isEmpty else { return nil }
    return value
  }

  /// Undoes the encoding of one name or value.
  static func decode(_ text: ArraySlice<UInt8>) throws(Problem) -> String {
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
