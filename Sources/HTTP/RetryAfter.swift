// Reads how long an upstream server wants this one to wait. `Gate/Policy/Waiting.swift` computes how long
// clients wait.

/// The `Retry-After` field: seconds or a date (RFC 9110 §10.2.3).
public enum RetryAfter {
  /// The longest wait to accept from a token endpoint, a chat desk or an external signer. A provider that
  /// asks for an hour by mistake must not silence this process for an hour. One request a minute is harmless.
  public static let cap = Duration.seconds(60)

  /// Reads the wait, at most `cap`; nil if the field is absent or invalid. A date in the past gives a wait of
  /// zero.
  ///
  /// A date is compared with the reply's own `Date`, so that this machine's clock does not matter. Without
  /// `Date`, it is compared with `now`.
  ///
  /// - Parameter now: Seconds since 1970.
  public static func read(_ fields: Fields, now: Int64, cap: Duration = Self.cap) -> Duration? {
    guard let text = fields["Retry-After"] else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      // Only the size matters beyond six digits.
      let digits = text.utf8.drop { $0 == 0x30 }
      let seconds = digits.count > 6 ? 1_000_000 : digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
      return min(.seconds(seconds), cap)
    }
    guard let date = HTTPDate.unixSeconds(text) else { return nil }
    let reference = fields["Date"].flatMap(HTTPDate.unixSeconds) ?? now
    return min(.seconds(max(0, date - reference)), cap)
  }
}
