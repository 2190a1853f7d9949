// Looks up configured names, such as apps, by their octets. Every request needs such a lookup.

/// An index from names to numbers. A lookup costs a few multiplications, while a dictionary hashes with a
/// secret. An operator chooses the names, so no client can make them collide.
package struct NameIndex: Sendable {
  private struct Slot {
    var hash: UInt64 = 0
    var start = 0
    var end = 0
    /// Negative if the slot is free.
    var number = -1
  }

  /// The slots. Their number is a power of two, and at most half of them are used.
  private var slots: [Slot]
  /// The names, one after another.
  private var octets: [UInt8] = []

  package let isEmpty: Bool

  /// Numbers the names from 0. No two names may have the same octets.
  package init(_ names: [String]) {
    isEmpty = names.isEmpty
    var size = 2
    while size < 2 * names.count { size *= 2 }
    slots = Array(repeating: Slot(), count: size)
    for (number, name) in names.enumerated() {
      let start = octets.count
      octets.append(contentsOf: name.utf8)
      let hash = Self.hash(octets.span.extracting(start...))
      var index = Int(truncatingIfNeeded: hash) & (size - 1)
      while slots[index].number >= 0 {
        precondition(!names[slots[index].number].utf8.elementsEqual(name.utf8), "a name twice")
        index = (index + 1) & (size - 1)
      }
      slots[index] = Slot(hash: hash, start: start, end: octets.count, number: number)
    }
  }

  /// The number of a name; nil if the index does not have it.
  package func number(of name: borrowing Span<UInt8>) -> Int? {
    let hash = Self.hash(name)
    let slots = slots.span
    var index = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[index].number >= 0 {
      let slot = slots[index]
      if slot.hash == hash, octets.span.extracting(slot.start..<slot.end).hasSameOctets(as: name) {
        return slot.number
      }
      index = (index + 1) & (slots.count - 1)
    }
    return nil
  }

  /// The number of a name; nil if the index does not have it.
  package func number(of name: String) -> Int? { number(of: name.utf8.span) }

  static func hash(_ name: borrowing Span<UInt8>) -> UInt64 {
    var hash = UInt64(truncatingIfNeeded: name.count)
    var index = 0
    while index <= name.count - 8 {
      hash = mix(hash, OctetWord(name, at: index).octets)
      index += 8
    }
    guard index < name.count else { return hash }
    // The last eight octets; some of them were hashed before.
    if name.count >= 8 { return mix(hash, OctetWord(name, at: name.count - 8).octets) }
    var rest: UInt64 = 0
    while index < name.count {
      rest = rest << 8 | UInt64(name[index])
      index += 1
    }
    return mix(hash, rest)
  }

  @inline(__always) private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
    return product ^ product >> 32
  }
}
