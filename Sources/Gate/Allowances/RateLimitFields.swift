// RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-10, §§ 3 and 4) as structured fields.

/// What is left of a rule's allowance, as a client is told.
public struct AllowanceStatus: Hashable, Sendable {
  /// The rule's name.
  public var rule: String
  /// What is left.
  public var count: AllowanceCount

  /// Names a count.
  public init(rule: String, count: AllowanceCount) {
    self.rule = rule
    self.count = count
  }
}

extension [AllowanceStatus] {
  /// The value of `RateLimit-Policy`: `"per-caller";q=30;w=60, "daily";q=5;w=86400`.
  public var rateLimitPolicy: String {
    map { "\(name($0.rule));q=\($0.count.limit);w=\($0.count.window)" }.joined(separator: ", ")
  }

  /// The value of `RateLimit`: `"per-caller";r=29;t=2, "daily";r=0;t=3600`.
  public var rateLimit: String {
    map { "\(name($0.rule));r=\($0.count.remaining);t=\($0.count.reset)" }.joined(separator: ", ")
  }

  /// A rule's name as a string of RFC 9651 §3.3.3. Names from a configuration hold nothing to escape.
  private func name(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars where (0x20...0x7E).contains(scalar.value) {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }
}
