// Writes JSON in its shortest form, with members in their order. Equal values that were built in the same way
// result in equal bytes.

import Texts

extension JSONValue {
  /// The value as UTF-8, without white space.
  public func serialized() -> [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  /// Appends the result of `serialized()`.
  public func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .number(let number): bytes += number.text.utf8
    case .string(let text): JSONText.append(text, to: &bytes)
    case .object(let object): object.append(to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    }
  }
}

extension JSONObject {
  /// The object as UTF-8, without white space.
  public func serialized() -> [UInt8] {
    var bytes: [UInt8] = []
    // An ordinary member needs about 48 bytes, so most objects are written without growing the array.
    bytes.reserveCapacity(48 * members.count)
    append(to: &bytes)
    return bytes
  }

  /// Appends the result of `serialized()`.
  public func append(to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "{"))
    for (index, member) in members.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      JSONText.append(member.name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      member.value.append(to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }
}

/// Strings in their JSON form, for writers that assemble a line without making a `JSONValue` first.
///
/// The functions escape the quotation mark, the backslash, and every control character (C0, DELETE and C1,
/// which terminals obey). They also escape U+2028 and U+2029, which end a line for some readers of logs and
/// scripts. All other characters stay as they are.
public enum JSONText {
  /// Appends a string with its quotation marks.
  public static func append(_ string: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    let start = bytes.count
    // The string is copied first and then searched without a branch for each byte.
    bytes.append(contentsOf: string.utf8)
    if needsEscape(bytes.span.extracting(start...)) {
      // Rare: remove the copy and write it again with escapes.
      let raw = Array(bytes[start...])
      bytes.removeSubrange(start...)
      appendEscaped(raw, to: &bytes)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// The maximum number of octets of a string in its JSON form: an escape of one octet has up to six.
  public static func mostOctets(_ string: String) -> Int { 6 * string.utf8.count + 2 }

  /// Appends a string with its quotation marks to memory that has `mostOctets` left.
  public static func append(_ string: String, to output: inout OutputSpan<UInt8>) {
    output.append(UInt8(ascii: "\""))
    let start = output.count
    output.append(utf8: string)
    if needsEscape(output.span.extracting(start...)) {
      output.removeLast(output.count - start)
      var escaped: [UInt8] = []
      appendEscaped(Array(string.utf8), to: &escaped)
      output.append(octets: escaped.span)
    }
    output.append(UInt8(ascii: "\""))
  }

  /// Appends a string with its quotation marks, for people to read. Characters that steer the text around
  /// them, such as marks of direction, are escaped.
  public static func appendShown(_ string: String, to bytes: inout [UInt8]) {
    guard string.unicodeScalars.contains(where: { $0.value >= 0x80 && $0.steersText }) else {
      return append(string, to: &bytes)
    }
    bytes.append(UInt8(ascii: "\""))
    for scalar in string.unicodeScalars {
      if scalar.value >= 0x80, scalar.steersText {
        for unit in String(scalar).utf16 { appendEscape(unit, to: &bytes) }
      } else {
        appendEscaped(Array(String(scalar).utf8), to: &bytes)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func needsEscape(_ written: Span<UInt8>) -> Bool {
    let count = written.count
    var marks: UInt64 = 0
    var offset = 0
    while offset <= count - 8 {
      marks |= escapes(OctetWord(written, at: offset))
      offset += 8
    }
    if offset < count, count >= 8 {
      // The last eight octets; some of them were checked before.
      marks |= escapes(OctetWord(written, at: count - 8))
    } else {
      // Spaces fill the word, because a space needs no escape.
      var word: UInt64 = 0x2020_2020_2020_2020
      while offset < count {
        word = word << 8 | UInt64(written[offset])
        offset += 1
      }
      marks |= escapes(OctetWord(word))
    }
    return marks != 0
  }

  /// Not zero if one of the octets is a control, a quotation mark, a backslash, or beyond ASCII.
  @inline(__always) private static func escapes(_ word: OctetWord) -> UInt64 {
    word.controls | word.beyondASCII | word.marks(of: UInt8(ascii: "\"")) | word.marks(of: UInt8(ascii: "\\"))
  }

  private static func appendEscaped(_ raw: [UInt8], to bytes: inout [UInt8]) {
    var index = 0
    while index < raw.count {
      let byte = raw[index]
      switch byte {
      case UInt8(ascii: "\""): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "\"")]
      case UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "\\")]
      case 0x08: bytes += "\\b".utf8
      case 0x09: bytes += "\\t".utf8
      case 0x0A: bytes += "\\n".utf8
      case 0x0C: bytes += "\\f".utf8
      case 0x0D: bytes += "\\r".utf8
      case 0x00..<0x20, 0x7F: appendEscape(UInt16(byte), to: &bytes)
      case 0x20..<0x7F: bytes.append(byte)
      default:
        guard let length = UTF8Sequence.length(in: raw, at: index) else {
          bytes += [0xEF, 0xBF, 0xBD]
          break
        }
        if byte == 0xC2, raw[index + 1] < 0xA0 {
          appendEscape(UInt16(raw[index + 1]), to: &bytes)
        } else if byte == 0xE2, raw[index + 1] == 0x80, raw[index + 2] == 0xA8 || raw[index + 2] == 0xA9 {
          appendEscape(0x2000 | UInt16(raw[index + 2] - 0x80), to: &bytes)
        } else {
          bytes += raw[index..<index + length]
        }
        index += length - 1
      }
      index += 1
    }
  }

  private static func appendEscape(_ unit: UInt16, to bytes: inout [UInt8]) {
    bytes += "\\u".utf8
    for shift in [12, 8, 4, 0] as [UInt16] {
      let digit = UInt8(unit >> shift & 0xF)
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }
}
