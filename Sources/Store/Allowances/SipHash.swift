// SipHash with a 128-bit result: a keyed hash, which does not reveal its input to anyone without the key.

/// SipHash-2-4 (Aumasson, Bernstein, 2012) with its 128-bit result.
struct SipHash {
  private var v0, v1, v2, v3: UInt64

  /// A hash under a key of two words, the little-endian halves of its 16 bytes.
  init(key: (low: UInt64, high: UInt64)) {
    v0 = key.low ^ 0x736f_6d65_7073_6575
    v1 = key.high ^ 0x646f_7261_6e64_6f6d ^ 0xEE
    v2 = key.low ^ 0x6c79_6765_6e65_7261
    v3 = key.high ^ 0x7465_6462_7974_6573
  }

  /// The hash of some bytes, as two little-endian words.
  static func hash(_ bytes: [UInt8], key: (low: UInt64, high: UInt64)) -> (low: UInt64, high: UInt64) {
    var hash = SipHash(key: key)
    var start = 0
    while bytes.count - start >= 8 {
      hash.add(word(bytes[start..<start + 8]))
      start += 8
    }
    hash.add(word(bytes[start...]) | UInt64(truncatingIfNeeded: bytes.count) << 56)
    return hash.finish()
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    var word: UInt64 = 0
    for byte in bytes.reversed() { word = word << 8 | UInt64(byte) }
    return word
  }

  /// Adds a word of eight bytes.
  private mutating func add(_ word: UInt64) {
    v3 ^= word
    for _ in 0..<2 { round() }
    v0 ^= word
  }

  /// The hash of all words.
  private mutating func finish() -> (low: UInt64, high: UInt64) {
    v2 ^= 0xEE
    for _ in 0..<4 { round() }
    let low = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    for _ in 0..<4 { round() }
    return (low, v0 ^ v1 ^ v2 ^ v3)
  }

  @inline(__always) private mutating func round() {
    v0 &+= v1
    v1 = rotated(v1, 13) ^ v0
    v0 = rotated(v0, 32)
    v2 &+= v3
    v3 = rotated(v3, 16) ^ v2
    v0 &+= v3
    v3 = rotated(v3, 21) ^ v0
    v2 &+= v1
    v1 = rotated(v1, 17) ^ v2
    v2 = rotated(v2, 32)
  }

  @inline(__always) private func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 {
    word << bits | word >> (64 - bits)
  }
}
