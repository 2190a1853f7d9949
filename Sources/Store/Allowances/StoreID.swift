// The 128-bit ids of rows in a store, and the keyed hash that makes many of them, so that no phone number is
// saved.

package import Gate
import Texts

/// An id of 128 bits: a keyed hash (`StoreIDMaker`), the beginning of a digest, or a UUID.
public struct StoreID: Hashable, Comparable, Sendable {
  package var high: UInt64
  package var low: UInt64

  public static func < (a: Self, b: Self) -> Bool { a.high != b.high ? a.high < b.high : a.low < b.low }

  /// The 16 bytes, the most significant first.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(upTo: 16) { output in
      output.append(octetsOf: high.byteSwapped)
      output.append(octetsOf: low.byteSwapped)
    }
    return bytes
  }

  /// The 32 lower-case hex digits, which PostgreSQL reads as a `uuid`.
  package var hex: String { String(decoding: hexDigits, as: UTF8.self) }

  /// The digits of `hex`, as octets.
  var hexDigits: [UInt8] {
    var digits: [UInt8] = []
    digits.append(upTo: 32) { output in
      output.append(hexadecimal: high)
      output.append(hexadecimal: low)
    }
    return digits
  }

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads 16 bytes; nil for another count.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The first 16 bytes of a digest.
  package init(digest: [UInt8]) {
    guard let id = StoreID(bytes: Array(digest.prefix(16))) else { preconditionFailure("a short digest") }
    self = id
  }

  /// Reads 32 hex digits. Ignores hyphens, so that the text of a `uuid` can be read too. Nil for anything
  /// else.
  package init?(hex text: String) {
    let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
    guard digits.count == 32 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    for (place, digit) in digits.enumerated() {
      let value: UInt8
      switch digit {
      case 0x30...0x39: value = digit - 0x30
      case 0x61...0x66: value = digit - 0x61 + 10
      case 0x41...0x46: value = digit - 0x41 + 10
      default: return nil
      }
      if place < 16 { words.0 = words.0 << 4 | UInt64(value) } else { words.1 = words.1 << 4 | UInt64(value) }
    }
    self.init(high: words.0, low: words.1)
  }
}

/// Computes store ids with a key that is made once per store and saved in it.
public struct StoreIDMaker: Sendable {
  private let key: (low: UInt64, high: UInt64)

  package init(key: StoreID) { self.key = (key.low, key.high) }

  package func id(of allowance: AllowanceKey) -> StoreID {
    // The length comes first, so that no two pairs of texts make the same bytes.
    let rule = Array(allowance.rule.utf8)
    var bytes: [UInt8] = []
    for shift in stride(from: 0, to: 32, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: rule.count >> shift))
    }
    bytes += rule
    bytes += allowance.partyText.utf8
    return id(of: bytes)
  }

  package func id(of bytes: [UInt8]) -> StoreID {
    let (low, high) = SipHash.hash(bytes, key: key)
    return StoreID(high: high, low: low)
  }

  /// Makes a new key from the system's random numbers.
  package static func newKey() -> StoreID {
    var generator = SystemRandomNumberGenerator()
    return StoreID(high: generator.next(), low: generator.next())
  }
}
