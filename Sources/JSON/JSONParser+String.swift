/// Parses the strings of JSON texts (RFC 8259 §7): escapes, surrogate pairs and well-formed UTF-8.

extension JSONParser {
  /// Reads a string: from its opening quote to after its closing one.
  mutating func string() throws(JSONError) -> String {
    position += 1
    let start = position
    // Most strings have no escape and are copied as they are.
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { try character(byte) }
    guard next == UInt8(ascii: "\\") else {
      guard next != nil else { throw JSONError(position, .unterminated) }
      position += 1
      return String(decoding: bytes[start..<position - 1], as: UTF8.self)
    }
    var text = Array(bytes[start..<position])
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        try escape(into: &text)
      default:
        let from = position
        try character(byte)
        text += bytes[from..<position]
      }
    }
    throw JSONError(position, .unterminated)
  }

  /// Passes over one unescaped character.
  private mutating func character(_ first: UInt8) throws(JSONError) {
    if first < 0x80 {
      guard first >= 0x20 else { throw JSONError(position, .controlInString) }
      position += 1
      return
    }
    guard let length = UTF8Sequence.length(in: bytes, at: position) else {
      throw JSONError(position, .invalidUTF8)
    }
    position += length
  }

  private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
    let start = position
    guard start + 1 < bytes.count else { throw JSONError(bytes.count, .unterminated) }
    position += 2
    switch bytes[start + 1] {
    case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
    case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
    case UInt8(ascii: "/"): text.append(UInt8(ascii: "/"))
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      let unit = try fourHexDigits()
      switch unit {
      case 0xD800...0xDBFF:
        // A high surrogate must be followed by an escaped low one: readers differ in what a lone one means.
        guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
          bytes[position + 1] == UInt8(ascii: "u")
        else { throw JSONError(start, .loneSurrogate) }
        position += 2
        let low = try fourHexDigits()
        guard (0xDC00...0xDFFF).contains(low) else { throw JSONError(start, .loneSurrogate) }
        UTF8Sequence.append(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00), to: &text)
      case 0xDC00...0xDFFF: throw JSONError(start, .loneSurrogate)
      default: UTF8Sequence.append(unit, to: &text)
      }
    default: throw JSONError(start, .invalidEscape)
    }
  }

  private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next else { throw JSONError(position, .unterminated) }
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
      default: throw JSONError(position, .invalidEscape)
      }
      unit = unit << 4 | UInt32(digit)
      position += 1
    }
    return unit
  }
}
