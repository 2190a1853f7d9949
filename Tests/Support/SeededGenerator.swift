// A random generator that repeats its numbers on every run, so that failures can be reproduced.

/// A generator that gives the same numbers on every run, so that a failure can be reproduced: SplitMix64
/// (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(_ seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A number from 0 to below `count`.
  public mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  /// A number from 0 to below 1.
  public mutating func unit() -> Double { .random(in: 0..<1, using: &self) }

  /// True in `percent` of 100 calls, on average.
  public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// A random element of a list, which must not be empty.
  public mutating func one<Choice>(of choices: [Choice]) -> Choice { choices[below(choices.count)] }
}
