// The built-in list of number ranges that callbacks must not reach, because calls to them are expensive or
// impossible.

/// The ranges that are refused: premium rate, shared cost, personal, pager and satellite numbers, short and
/// emergency codes, and numbers that cannot exist.
public enum NumberRanges {
  /// Whether a number lies in a refused range.
  public static func refuses(_ number: E164) -> Bool {
    refused.longestMatch(number) != nil || tooShort.longestMatch(number) != nil || !isPossible(number)
  }

  /// Why a number is refused, as the predicate of a sentence: `begins with +1900, …`; nil if it is allowed.
  public static func reason(toRefuse number: E164) -> String? {
    if let length = refused.longestMatch(number) {
      return "begins with \(number.prefix(length)), a range that is refused by default"
    }
    if tooShort.longestMatch(number) != nil { return "is too short for a number of its country" }
    return isPossible(number) ? nil : "is in no numbering plan, so no phone can have it"
  }

  /// Whether a number can exist in some numbering plan. For example, no country or network has the calling
  /// codes 210 or 999. After +1 come ten digits, and an area code begins with 2 to 9 (ATIS-0300055). Canada's
  /// 310 numbers have seven digits.
  private static func isPossible(_ number: E164) -> Bool {
    guard assigned.longestMatch(number) != nil else { return false }
    guard number.digit(at: 0) == 1 else { return true }
    return number.count == 11 ? number.digit(at: 1) >= 2 : number.count == 8 && number.digits / 10_000 == 1310
  }

  /// Whether a number can begin with these digits: they begin with an assigned calling code, or are the
  /// beginning of one.
  static func isAssigned(_ digits: [UInt8]) -> Bool {
    callingCodes.contains { code in zip(code, digits).allSatisfy(==) }
  }

  /// The calling codes, as digits.
  private static let callingCodes: [[UInt8]] = shortest.description.utf8
    .split(whereSeparator: { $0 == 0x20 || $0 == 0x0A })
    .map { word in word.prefix { $0 != UInt8(ascii: ":") }.map { $0 - 0x30 } }

  private static let refused = trie(of: prefixes) { lengths in
    lengths.isEmpty ? PrefixTrie.anyLength : lengths.reduce(0) { $0 | 1 << UInt16($1) }
  }

  private static let assigned = trie(of: shortest) { _ in PrefixTrie.anyLength }

  private static let tooShort = trie(of: shortest) { lengths in
    (1 << UInt16(lengths.first ?? 0)) - 1
  }

  /// Builds a tree from a table of words. A word is digits, the last one possibly a choice in brackets, and
  /// possibly lengths after a colon.
  private static func trie(of table: StaticString, mask: ([Int]) -> UInt16) -> PrefixTrie {
    var trie = PrefixTrie()
    for word in table.description.utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x0A }) {
      let halves = word.split(separator: UInt8(ascii: ":"))
      let lengths =
        halves.count == 1
        ? [] : halves[1].split(separator: UInt8(ascii: ",")).map { $0.reduce(0) { $0 * 10 + Int($1 - 0x30) } }
      var stem: [UInt8] = []
      var choices: [UInt8] = []
      var choosing = false
      for byte in halves[0] {
        switch byte {
        case UInt8(ascii: "["): choosing = true
        case UInt8(ascii: "]"): choosing = false
        case _ where choosing: choices.append(byte - 0x30)
        default: stem.append(byte - 0x30)
        }
      }
      let prefixes = choices.isEmpty ? [stem] : choices.map { stem + [$0] }
      for prefix in prefixes {
        let kept = trie.insert(prefix, lengths: mask(lengths))
        precondition(kept, "the built-in table of number ranges outgrew its tree")
      }
    }
    return trie
  }
}
