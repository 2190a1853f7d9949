// A random generator that repeats its numbers on every run, so that failures can be reproduced.

/// The same numbers on every run, so that a failure can be repeated: SplitMix64 (Steele, Lea and Flood, "Fast
/// Splittable Pseudorandom Number Generators", 2014).
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

  /// From 0 up to and without a bound.
  public mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  /// From 0 up to and without 1.
  public mutating func unit() -> Double { .random(in: 0..<1, using: &self) }

  /// True so many times in a hundred.
  public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// One of a list that is not empty.
  public mutating func one<Choice>(of choices: [Choice]) -> Choice { choices[below(choices.count)] }
}
