// Recognizes a refusal that may be due to the difference between two clocks.

/// A sign that a server may have refused a signed JWT because of its times.
public enum ClockDoubt: Hashable, Sendable {
  /// The server's clock is ahead of this machine's by this many seconds; negative if it is behind.
  case difference(Int64)
  /// The server says that a time is wrong, but its `Date` is missing or invalid, or agrees with this
  /// machine's clock to within `tolerance`.
  case said

  /// The largest difference in seconds that a response's `Date` can show although the clocks agree: `Date`
  /// has whole seconds, and the response takes time to arrive.
  public static let tolerance: Int64 = 2

  /// Creates a doubt from a refusal; nil if nothing points to the clocks.
  ///
  /// - Parameters:
  ///   - now: This machine's clock when the refusal arrived, in seconds since the epoch.
  ///   - fields: The header fields of the refusal.
  ///   - words: The server's own words.
  public init?(refusedAt now: Int64, _ fields: Fields, words: String?) {
    self.init(ahead: fields["Date"].flatMap(HTTPDate.unixSeconds).map { $0 - now }, words: words)
  }

  /// Makes a doubt from a difference in seconds that was read before; nil if nothing points to the clocks.
  public init?(ahead: Int64?, words: String?) {
    if let ahead, ahead.magnitude > Self.tolerance {
      self = .difference(ahead)
    } else if let words, Self.isAboutTime(words) {
      self = .said
    } else {
      return nil
    }
  }

  /// The doubt in words for operators, with the other server's name.
  public func words(for server: String) -> String {
    switch self {
    case .difference(let ahead):
      "this machine's clock is \(ahead.magnitude) s \(ahead > 0 ? "behind" : "ahead of") \(server)'s"
    case .said: "\(server) says that a time in the assertion is wrong"
    }
  }

  /// The names of a JWT's times (RFC 7519 §4.1), and the words that issuers use for them.
  private static let timeWords: Set<String> = [
    "iat", "exp", "nbf", "expired", "expiration", "clock", "skew", "future", "timeframe",
  ]

  private static func isAboutTime(_ words: String) -> Bool {
    words.utf8.prefix(1024).split { !(0x61...0x7A).contains($0 | 0x20) }
      .contains { timeWords.contains(String(decoding: $0.map(\.lowercasedASCII), as: UTF8.self)) }
  }
}
