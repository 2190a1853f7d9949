// The name of an allowance within this process: short, keyed and quick to make.

internal import Gate

/// 128 bits that stand for a rule and a party in this process. Two of a million are the same with a chance of
/// 10⁻²⁷, and nobody outside can look for such two, because the key is this process' own.
struct LocalID: Hashable, Sendable {
  var high: UInt64
  var low: UInt64
}

/// Makes the names: two of Swift's keyed hashes (SipHash-1-3), each with a seed of its own.
struct LocalIDMaker: Sendable {
  private let seeds: (UInt64, UInt64)

  init() {
    var generator = SystemRandomNumberGenerator()
    seeds = (generator.next(), generator.next())
  }

  @inline(__always) func id(of key: AllowanceKey) -> LocalID {
    var first = Hasher()
    first.combine(seeds.0)
    first.combine(key)
    var second = Hasher()
    second.combine(seeds.1)
    second.combine(key)
    return LocalID(
      high: UInt64(bitPattern: Int64(first.finalize())),
      // All zero is an empty place in a table.
      low: UInt64(bitPattern: Int64(second.finalize())) | 1)
  }
}
