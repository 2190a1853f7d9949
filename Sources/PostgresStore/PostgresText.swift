// Converts values to and from PostgreSQL's text format.

/// Arrays and bytes as the server reads and writes them.
enum PostgresText {
  /// An array of values that need no quotes: digits and NULL.
  static func array(_ elements: [String]) -> String { "{\(elements.joined(separator: ","))}" }

  /// An array of any texts (manual, §8.15.2). A connection refuses one with a NUL.
  static func array(quoting elements: [String?]) -> String {
    var bytes: [UInt8] = [UInt8(ascii: "{")]
    for (place, element) in elements.enumerated() {
      if place > 0 { bytes.append(UInt8(ascii: ",")) }
      guard let element else {
        bytes += "NULL".utf8
        continue
      }
      bytes.append(UInt8(ascii: "\""))
      for byte in element.utf8 {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        default: bytes.append(byte)
        }
      }
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: "}"))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Bytes as `\x…` (manual, §8.4.1).
  static func bytea(_ content: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text = Array("\\x".utf8)
    text.reserveCapacity(2 + 2 * content.count)
    for byte in content {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads `\x…`; nil for anything else.
  static func bytes(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0, digits.starts(with: "\\x".utf8) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2 - 1)
    for place in stride(from: 2, to: digits.count, by: 2) {
      guard let high = value(digits[place]), let low = value(digits[place + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}
