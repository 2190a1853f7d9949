// Finds the longest prefix of a phone number in a tree of digits, without allocating memory.

/// Prefixes of phone numbers, each with the lengths of the numbers that it applies to.
struct PrefixTrie: Sendable {
  /// The child nodes, ten for each node; 0 for no child. The root is node 0.
  private var children: [UInt16] = [UInt16](repeating: 0, count: 10)
  /// For each node, the number lengths for which a prefix ends there, one bit each; 0 if no prefix ends
  /// there.
  private var lengths: [UInt16] = [0]

  /// The mask for numbers of any length.
  static let anyLength: UInt16 = .max

  init() {}

  /// Adds a prefix of digits; false if the tree is full (65,535 nodes).
  mutating func insert(_ digits: [UInt8], lengths mask: UInt16 = anyLength) -> Bool {
    var node = 0
    for digit in digits {
      let slot = node * 10 + Int(digit)
      if children[slot] == 0 {
        guard lengths.count < Int(UInt16.max) else { return false }
        children[slot] = UInt16(lengths.count)
        lengths.append(0)
        children.append(contentsOf: repeatElement(0, count: 10))
      }
      node = Int(children[slot])
    }
    lengths[node] |= mask
    return true
  }

  /// The length of the longest prefix that a number begins with, in digits; nil if there is none.
  func longestMatch(_ number: E164) -> Int? {
    let bit = UInt16(1) << UInt16(number.count)
    var node = 0
    var longest: Int?
    for index in 0..<Int(number.count) {
      let child = children[node * 10 + number.digit(at: index)]
      guard child != 0 else { break }
      node = Int(child)
      if lengths[node] & bit != 0 { longest = index + 1 }
    }
    return longest
  }
}
