// Searches eight octets of a text at once, for the parsers and writers that every request uses.

/// Eight octets, the first one in the lowest bits.
///
/// The functions mark octets by their highest bits. Only the lowest mark is certain: a subtraction that finds
/// an octet borrows from the next one. If there is no mark, there is no such octet.
public struct OctetWord {
  @usableFromInline let octets: UInt64

  @usableFromInline static let ones: UInt64 = 0x0101_0101_0101_0101
  @usableFromInline static let highest: UInt64 = 0x8080_8080_8080_8080

  /// Reads eight octets of memory at an offset. They must all be within the memory.
  @inlinable @inline(__always) public init(_ memory: borrowing Span<UInt8>, at offset: Int) {
    precondition(offset >= 0 && offset <= memory.count - 8, "eight octets within the memory")
    // The octets are within the memory, and any eight octets are a number.
    octets = unsafe UInt64(
      littleEndian: memory.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Wraps eight octets.
  @inlinable @inline(__always) public init(_ octets: UInt64) { self.octets = octets }

  /// Marks C0 and DELETE.
  @inlinable @inline(__always) public var controls: UInt64 {
    ((octets &- Self.ones &* 0x20) & ~octets) & Self.highest | marks(of: 0x7F)
  }

  /// Marks the octets beyond ASCII.
  @inlinable @inline(__always) public var beyondASCII: UInt64 { octets & Self.highest }

  /// Marks the octets that are equal to `octet`.
  @inlinable @inline(__always) public func marks(of octet: UInt8) -> UInt64 {
    let others = octets ^ Self.ones &* UInt64(octet)
    return (others &- Self.ones) & ~others & Self.highest
  }

  /// The number of octets before the lowest mark.
  @inlinable @inline(__always) public static func offset(of marks: UInt64) -> Int {
    marks.trailingZeroBitCount / 8
  }
}

extension Span where Element == UInt8 {
  /// The index of the first octet that is equal to `octet`, starting at `start`; nil if there is none.
  public func firstIndex(of octet: UInt8, from start: Int = 0) -> Int? {
    var index = start
    while index <= count - 8 {
      let marks = OctetWord(self, at: index).marks(of: octet)
      if marks != 0 { return index + OctetWord.offset(of: marks) }
      index += 8
    }
    while index < count {
      if self[index] == octet { return index }
      index += 1
    }
    return nil
  }

  /// Whether one of the octets is C0 or DELETE.
  public var hasControl: Bool {
    var index = 0
    while index <= count - 8 {
      if OctetWord(self, at: index).controls != 0 { return true }
      index += 8
    }
    while index < count {
      if self[index] < 0x20 || self[index] == 0x7F { return true }
      index += 1
    }
    return false
  }

  /// Whether both have the same octets. The time it takes reveals where they differ, so do not use it for
  /// secrets.
  public func hasSameOctets(as other: borrowing Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    var index = 0
    while index <= count - 8 {
      guard OctetWord(self, at: index).octets == OctetWord(other, at: index).octets else { return false }
      index += 8
    }
    while index < count {
      guard self[index] == other[index] else { return false }
      index += 1
    }
    return true
  }
}
