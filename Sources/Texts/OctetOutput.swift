// Appends texts, digits and octets to memory that is reserved once for a whole line.

extension [UInt8] {
  /// Appends at most `most` octets, for which it reserves room once.
  ///
  /// The closure is wrapped in another one: the standard library's function would copy and release each value
  /// that it captures.
  @inlinable @inline(__always) public mutating func append(
    upTo most: Int, _ body: (inout OutputSpan<UInt8>) -> Void
  ) {
    append(addingCapacity: most) { body(&$0) }
  }
}

extension OutputSpan where Element == UInt8 {
  /// Appends a text of the program itself. Traps if there is no room, like every function here.
  @inlinable @inline(__always) public mutating func append(literal text: StaticString) {
    unsafe write(text.utf8CodeUnitCount) {
      unsafe $0.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
    }
  }

  @inlinable @inline(__always) public mutating func append(octets: borrowing Span<UInt8>) {
    unsafe octets.withUnsafeBufferPointer { octets in
      guard let start = octets.baseAddress else { return }
      unsafe write(octets.count) { unsafe $0.update(from: start, count: octets.count) }
    }
  }

  @inlinable @inline(__always) public mutating func append(octets: [UInt8]) {
    append(octets: octets.span)
  }

  /// Appends a text's UTF-8.
  @inlinable public mutating func append(utf8 text: String) {
    let isAppended: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { octets in
      guard let start = octets.baseAddress else { return }
      unsafe write(octets.count) { unsafe $0.update(from: start, count: octets.count) }
    }
    if isAppended == nil { for octet in text.utf8 { append(octet) } }
  }

  /// Appends the 16 hexadecimal digits of a number.
  @inlinable @inline(__always) public mutating func append(hexadecimal number: UInt64) {
    append(HexadecimalDigits(number))
  }

  /// Appends digits that were made before.
  @inlinable @inline(__always) public mutating func append(_ digits: HexadecimalDigits) {
    unsafe write(16) {
      unsafe UnsafeMutableRawPointer($0).storeBytes(
        of: (digits.upper, digits.lower), as: (UInt64, UInt64).self)
    }
  }

  /// Appends the 36 characters of a UUID in lower case.
  public mutating func append(uuid high: UInt64, _ low: UInt64) {
    let (high, low) = (HexadecimalDigits(high), HexadecimalDigits(low))
    append(octetsOf: high.upper)
    append(hyphenAndFour: high.lower)
    append(hyphenAndFour: high.lower >> 32)
    append(hyphenAndFour: low.upper)
    append(hyphenAndFour: low.upper >> 32)
    append(octetsOf: low.lower)
  }

  private mutating func append(hyphenAndFour word: UInt64) {
    append(UInt8(ascii: "-"))
    for shift in stride(from: UInt64(0), to: 32, by: 8) {
      append(UInt8(truncatingIfNeeded: word.littleEndian >> shift))
    }
  }

  /// Appends the eight octets of a word, the lowest first.
  @inlinable @inline(__always) public mutating func append(octetsOf word: UInt64) {
    unsafe write(8) { unsafe UnsafeMutableRawPointer($0).storeBytes(of: word.littleEndian, as: UInt64.self) }
  }

  /// Appends a number's decimal digits.
  public mutating func append(decimal number: UInt64) {
    guard number >= 10 else { return append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number)) }
    append(decimal: number / 10)
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  /// Appends a number below 100 as two digits.
  @inlinable @inline(__always) public mutating func append(twoDigits number: Int64) {
    // Constant divisors: the compiler multiplies instead of dividing.
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10))
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  /// Appends the last three digits of a number.
  @inlinable @inline(__always) public mutating func append(threeDigits number: Int64) {
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 100 % 10))
    append(twoDigits: number % 100)
  }

  /// Lets a closure write `size` octets after the others.
  @inlinable @inline(__always) mutating func write(
    _ size: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void
  ) {
    unsafe withUnsafeMutableBufferPointer { buffer, count in
      precondition(size <= buffer.count - count, "no room in the output")
      guard let start = buffer.baseAddress else { return }
      unsafe body(start + count)
      count += size
    }
  }
}

/// The 16 hexadecimal digits of a number, in lower case, for a number that is written more than once.
public struct HexadecimalDigits: Hashable, Sendable {
  @usableFromInline let upper, lower: UInt64

  @inlinable public init(_ number: UInt64) {
    upper = Self.digits(number >> 32)
    lower = Self.digits(number)
  }

  /// The eight digits of the lower half, the highest first in memory.
  @usableFromInline static func digits(_ value: UInt64) -> UInt64 {
    // Spreads the nibbles, so that each has its own octet.
    var spread = value & 0xFFFF_FFFF
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
    spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
    // Adding 6 carries into the upper half exactly if the nibble is a letter.
    let letters = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return (spread &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).bigEndian
  }
}
