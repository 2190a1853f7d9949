/// Well-formed UTF-8 as defined by table 3-7 of the Unicode Standard: no overlong forms, no surrogates,
/// nothing above U+10FFFF.
enum UTF8Sequence {
  /// The number of bytes of the sequence at an index; nil if it is ill-formed or cut off.
  static func length(in bytes: [UInt8], at index: Int) -> Int? {
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch bytes[index] {
    case 0x00...0x7F: return 1
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    case 0xF1...0xF3: length = 4
    default: return nil
    }
    guard bytes.count - index >= length, second.contains(bytes[index + 1]) else { return nil }
    for offset in 2..<length where bytes[index + offset] & 0xC0 != 0x80 { return nil }
    return length
  }

  /// Appends a scalar that is not a surrogate.
  static func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
    func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(scalar >> shift & 0x3F) }
    switch scalar {
    case ..<0x80: bytes.append(UInt8(scalar))
    case ..<0x800: bytes += [0xC0 | UInt8(scalar >> 6), tail(0)]
    case ..<0x10000: bytes += [0xE0 | UInt8(scalar >> 12), tail(6), tail(0)]
    default: bytes += [0xF0 | UInt8(scalar >> 18), tail(12), tail(6), tail(0)]
    }
  }
}
