// The rule that decides by prefix which phone numbers may be called.

public import Documents

/// Allowed and denied number prefixes. The longest prefix that matches a number decides; on a tie the number
/// is denied.
public struct NumbersRule: Sendable {
  private let allow: PrefixTrie
  private let deny: PrefixTrie
  /// Whether there is a list of allowed prefixes. If so, all other numbers are denied.
  private let isAllowList: Bool
  /// Whether the built-in ranges are refused too, whatever the lists say.
  public let refusesDefaultRanges: Bool

  /// Creates a rule from prefixes such as `+351`. Throws if a prefix is malformed, if no phone number begins
  /// with it, if it is both allowed and denied, or if a list is too long.
  public init(allow: [String] = [], deny: [String] = [], refusesDefaultRanges: Bool = true) throws(Refusal) {
    let both = Set(allow).intersection(deny)
    if let prefix = both.min() {
      throw Refusal(at: "deny", "\(quoted(prefix)) is allowed as well", "keep it in one of the lists")
    }
    self.allow = try Self.trie(of: allow, key: "allow")
    self.deny = try Self.trie(of: deny, key: "deny")
    isAllowList = !allow.isEmpty
    self.refusesDefaultRanges = refusesDefaultRanges
  }

  /// The rule that refuses only the built-in ranges.
  static let defaults = NumbersRule()

  private init() {
    allow = PrefixTrie()
    deny = PrefixTrie()
    isAllowList = false
    refusesDefaultRanges = true
  }

  private static func trie(of prefixes: [String], key: String) throws(Refusal) -> PrefixTrie {
    var trie = PrefixTrie()
    for (index, prefix) in prefixes.enumerated() {
      let digits = prefix.utf8.dropFirst()
      guard prefix.utf8.first == UInt8(ascii: "+"), (1...15).contains(digits.count),
        digits.allSatisfy(\.isASCIIDigit), digits.first != UInt8(ascii: "0")
      else {
        throw Refusal(
          at: "\(key)[\(index)]",
          "\(quoted(prefix)) is not a prefix of international phone numbers",
          "write + and the first digits of the number, calling code included, as in \"+351\"")
      }
      guard NumberRanges.isAssigned(digits.map { $0 - 0x30 }) else {
        throw Refusal(
          at: "\(key)[\(index)]",
          "\(quoted(prefix)) does not begin any phone number: no country or network has this calling code",
          "check the calling code, as in \"+351\" for Portugal")
      }
      guard trie.insert(digits.map { $0 - 0x30 }) else {
        throw Refusal(at: key, "the list is too long", "use fewer or shorter prefixes")
      }
    }
    return trie
  }

  /// Whether a number may be called. If there is no number, only a list of allowed prefixes denies the
  /// request.
  func allows(_ number: E164?) -> Bool {
    guard let number else { return !isAllowList }
    if refusesDefaultRanges, NumberRanges.refuses(number) { return false }
    guard let allowed = allow.longestMatch(number) else {
      return !isAllowList && deny.longestMatch(number) == nil
    }
    return allowed > deny.longestMatch(number) ?? 0
  }

  /// The reason for the verdict: the prefix that decided, or that no prefix matches the number.
  func reason(_ number: E164?) -> String {
    guard let number else {
      return isAllowList ? "no number is given, and only listed ones are allowed" : "no number is given"
    }
    if refusesDefaultRanges, let reason = NumberRanges.reason(toRefuse: number) {
      return "\(number) \(reason)"
    }
    let allowed = allow.longestMatch(number)
    if let denied = deny.longestMatch(number), denied >= allowed ?? 0 {
      return "\(number) begins with \(number.prefix(denied)), which is denied"
    }
    if let allowed { return "\(number) begins with \(number.prefix(allowed)), which is allowed" }
    if isAllowList { return "\(number) begins with none of the allowed prefixes" }
    return "\(number) is in no refused range"
  }
}
