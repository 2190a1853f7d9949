// Encodes and decodes Base64 and Base64url.

import Texts

/// Base64 with the standard alphabet and padding (RFC 4648 §4).
public enum Base64 {
  /// The text with padding.
  public static func encode(_ bytes: [UInt8]) -> String {
    Base64Codec.encode(bytes, alphabet: Base64Codec.standardAlphabet, padding: true)
  }

  /// The bytes of a text; nil if it is not Base64 with correct padding and zero trailing bits. White space is
  /// refused.
  public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
    Base64Codec.decode(text, values: Base64Codec.standardValues, padding: true)
  }

  /// The bytes of a text; nil if it is not Base64.
  public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8).span) }
}

/// Base64 with the URL-safe alphabet and without padding, as JOSE uses it (RFC 7515 §2).
public enum Base64URL {
  /// The text without padding.
  public static func encode(_ bytes: [UInt8]) -> String {
    Base64Codec.encode(bytes, alphabet: Base64Codec.urlAlphabet, padding: false)
  }

  /// Appends the text without padding.
  public static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    Base64Codec.append(bytes, alphabet: Base64Codec.urlAlphabet, padding: false, to: &text)
  }

  /// The bytes of a text; nil if it has padding, white space, a foreign character or non-zero trailing bits.
  /// Each byte string has exactly one text, so two different texts are never the same token.
  public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
    Base64Codec.decode(text, values: Base64Codec.urlValues, padding: false)
  }

  /// The bytes of a text; nil if it is not Base64url.
  public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8).span) }
}

/// The Base64 algorithm, for both alphabets.
enum Base64Codec {
  static let standardAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  static let standardValues = values(of: standardAlphabet)
  static let urlValues = values(of: urlAlphabet)

  /// The table's value for a byte outside the alphabet.
  private static let none: UInt8 = 0xFF

  private static func values(of alphabet: [UInt8]) -> [UInt8] {
    var values = [UInt8](repeating: none, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }

  static func encode(_ bytes: [UInt8], alphabet: [UInt8], padding: Bool) -> String {
    var text: [UInt8] = []
    append(bytes, alphabet: alphabet, padding: padding, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  static func append(_ bytes: [UInt8], alphabet: [UInt8], padding: Bool, to text: inout [UInt8]) {
    let bytes = bytes.span
    let alphabet = alphabet.span
    var place = text.count
    // Make room first, so that the loop does not check for each character whether the array must grow.
    text.append(contentsOf: repeatElement(0, count: bytes.count / 3 * 4))
    var characters = text.mutableSpan
    var index = 0
    while index + 2 < bytes.count {
      let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
      characters[place] = alphabet[Int(group >> 18)]
      characters[place + 1] = alphabet[Int(group >> 12 & 63)]
      characters[place + 2] = alphabet[Int(group >> 6 & 63)]
      characters[place + 3] = alphabet[Int(group & 63)]
      index += 3
      place += 4
    }
    if bytes.count - index == 1 {
      text.append(alphabet[Int(bytes[index] >> 2)])
      text.append(alphabet[Int(bytes[index] << 4 & 63)])
      if padding { text += "==".utf8 }
    } else if bytes.count - index == 2 {
      let group = UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
      text.append(alphabet[Int(group >> 10)])
      text.append(alphabet[Int(group >> 4 & 63)])
      text.append(alphabet[Int(group << 2 & 63)])
      if padding { text += "=".utf8 }
    }
  }

  /// Decodes a span, so that this module compiles the function once for every kind of storage.
  static func decode(_ text: Span<UInt8>, values: [UInt8], padding: Bool) -> [UInt8]? {
    var end = text.count
    if padding {
      guard end % 4 == 0 else { return nil }
      for _ in 0..<2 where end > 0 && text[end - 1] == UInt8(ascii: "=") { end -= 1 }
    }
    guard end % 4 != 1 else { return nil }
    let values = values.span
    var bytes: [UInt8] = []
    var isValid = false
    bytes.append(upTo: end * 3 / 4) { isValid = decode(text, upTo: end, values, to: &$0) }
    return isValid ? bytes : nil
  }

  /// Appends the bytes of a text whose padding begins at `end`; false if the text is not Base64.
  private static func decode(
    _ text: Span<UInt8>, upTo end: Int, _ values: Span<UInt8>, to bytes: inout OutputSpan<UInt8>
  ) -> Bool {
    var index = 0
    while index + 3 < end {
      let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
      let (c, d) = (values[Int(text[index + 2])], values[Int(text[index + 3])])
      // Of all values only `none` has these bits.
      guard (a | b | c | d) & 0xC0 == 0 else { return false }
      bytes.append(a << 2 | b >> 4)
      bytes.append(b << 4 | c >> 2)
      bytes.append(c << 6 | d)
      index += 4
    }
    guard index < end else { return true }
    let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
    let c = index + 2 < end ? values[Int(text[index + 2])] : 0
    guard (a | b | c) & 0xC0 == 0 else { return false }
    bytes.append(a << 2 | b >> 4)
    if index + 2 < end { bytes.append(b << 4 | c >> 2) }
    // Bits beyond the last byte must be zero, so that each value has one text only.
    return (index + 2 < end ? c << 6 : b << 4) == 0
  }
}
