// Makes IDs in Talkdesk's format, at random or from a text.

import JOSE

/// Ids as Talkdesk writes them: 32 lower-case hexadecimal digits without dashes.
enum Identifier {
  /// A random id: 128 bits from the system's cryptographic generator.
  static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    return [generator.next(), generator.next()].map { (word: UInt64) in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// An ID for a text. The same text always has the same ID.
  static func derived(from text: String) -> String {
    Hex.encode(Array(SHA256.digest(Array(text.utf8)).prefix(16)))
  }
}
