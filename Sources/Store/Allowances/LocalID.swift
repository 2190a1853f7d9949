// A short keyed hash that identifies an allowance within this process.

import Gate
import Platform

/// 128 bits that identify a rule and a party in this process. Two of a million collide with a chance of
/// 10⁻²⁷. A client cannot search for such two, because the key is this process's own.
struct LocalID: Hashable, Sendable {
  var high: UInt64
  var low: UInt64
}

/// Makes the names: SipHash-1-3 with 128 bits, under a key that this process has made.
struct LocalIDMaker: Sendable {
  private let seeds: (low: UInt64, high: UInt64)

  init() {
    var generator = SystemRandomNumberGenerator()
    seeds = (generator.next(), generator.next())
  }

  func id(of key: borrowing AllowanceKey) -> LocalID {
    var hash = SipHash(key: seeds)
    // The rule's length comes first, so the rest can be read in one way only.
    let length = UInt64(key.rule.utf8.count) << 8
    switch key.party {
    case .caller(let id):
      hash.add(length | 1, rounds: 1)
      hash.add(text: key.rule)
      hash.add(text: id)
    case .subject(let id):
      hash.add(length | 2, rounds: 1)
      hash.add(text: key.rule)
      hash.add(text: id)
    case .installation(let id):
      hash.add(length | 5, rounds: 1)
      hash.add(text: key.rule)
      hash.add(text: id)
    case .app(let id):
      hash.add(length | 3, rounds: 1)
      hash.add(text: key.rule)
      hash.add(text: id)
    case .global:
      hash.add(length | 4, rounds: 1)
      hash.add(text: key.rule)
    case .address(let address):
      hash.add(length | (address.isV4 ? 6 : 7), rounds: 1)
      hash.add(text: key.rule)
      hash.add(address.high, rounds: 1)
      hash.add(address.low, rounds: 1)
    case .phone, .unknown:
      // Short values of fixed shape: Swift's own hash of them, in two words.
      var first = Hasher()
      first.combine(seeds.low)
      first.combine(key.party)
      var second = Hasher()
      second.combine(seeds.high)
      second.combine(key.party)
      hash.add(length | 5, rounds: 1)
      hash.add(text: key.rule)
      hash.add(UInt64(bitPattern: Int64(first.finalize())), rounds: 1)
      hash.add(UInt64(bitPattern: Int64(second.finalize())), rounds: 1)
    }
    let (low, high) = hash.finish(rounds: 3)
    // All zero means an empty slot in a table.
    return LocalID(high: high, low: low | 1)
  }
}

extension SipHash {
  /// Adds a text's UTF-8: whole words, and the rest with the length.
  fileprivate mutating func add(text: String) {
    // Read in place. Only a text that is not contiguous UTF-8 is copied first.
    var text = text
    text.withUTF8 { bytes in
      let raw = UnsafeRawBufferPointer(bytes)
      var place = 0
      while raw.count - place >= 8 {
        add(raw.loadUnaligned(fromByteOffset: place, as: UInt64.self), rounds: 1)
        place += 8
      }
      var last = UInt64(truncatingIfNeeded: raw.count) << 56
      var shift: UInt64 = 0
      while place < raw.count {
        last |= UInt64(raw[place]) << shift
        shift += 8
        place += 1
      }
      add(last, rounds: 1)
    }
  }
}
