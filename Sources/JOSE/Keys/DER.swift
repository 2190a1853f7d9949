/// The part of DER (X.690) that keys and signatures need: definite, minimal lengths and single-byte tags.
enum DER {
  static let integer: UInt8 = 0x02
  static let bitString: UInt8 = 0x03
  static let octetString: UInt8 = 0x04
  static let sequence: UInt8 = 0x30
  static let contextZero: UInt8 = 0xA0

  /// The encoding of one element.
  static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    var bytes = [tag]
    if content.count < 0x80 {
      bytes.append(UInt8(content.count))
    } else {
      var length: [UInt8] = []
      var rest = content.count
      while rest > 0 {
        length.insert(UInt8(rest & 0xFF), at: 0)
        rest >>= 8
      }
      bytes.append(0x80 | UInt8(length.count))
      bytes += length
    }
    return bytes + content
  }

  /// A non-negative integer from its big-endian bytes, without leading zeros, as DER requires.
  static func integer(_ magnitude: some Collection<UInt8>) -> [UInt8] {
    var content = Array(magnitude.drop { $0 == 0 })
    if content.first.map({ $0 >= 0x80 }) ?? true { content.insert(0, at: 0) }
    return element(integer, content)
  }
}

/// A reader of DER elements, one after the other. Every result is nil if the bytes are not DER.
struct DERReader {
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  init(_ bytes: [UInt8]) { self.init(bytes[...]) }

  /// The number of bytes that have not been read yet.
  var remaining: Int { bytes.endIndex - position }

  /// The tag of the next element.
  var nextTag: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

  /// Reads the next element, with any tag of one byte.
  mutating func element() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
    guard remaining >= 2 else { return nil }
    let tag = bytes[position]
    guard tag & 0x1F != 0x1F else { return nil }
    var start = position + 2
    var length = Int(bytes[position + 1])
    if length >= 0x80 {
      let count = length & 0x7F
      // No key has a length of more than four bytes. DER forbids a leading zero, and the long form if the
      // short one suffices.
      guard (1...4).contains(count), remaining >= 2 + count, bytes[start] != 0 else { return nil }
      length = 0
      for index in start..<start + count { length = length << 8 | Int(bytes[index]) }
      guard length >= 0x80 else { return nil }
      start += count
    }
    guard bytes.endIndex - start >= length else { return nil }
    position = start + length
    return (tag, bytes[start..<start + length])
  }

  /// Reads the next element if it has this tag.
  mutating func element(_ tag: UInt8) -> ArraySlice<UInt8>? {
    guard nextTag == tag else { return nil }
    return element()?.content
  }

  /// Reads a non-negative INTEGER in minimal form and returns its bytes without the sign's zero.
  mutating func magnitude() -> ArraySlice<UInt8>? {
    guard let content = element(DER.integer), let first = content.first, first < 0x80 else { return nil }
    guard first == 0, content.count > 1 else { return content }
    let rest = content.dropFirst()
    return rest.first.map { $0 >= 0x80 } == true ? rest : nil
  }
}
