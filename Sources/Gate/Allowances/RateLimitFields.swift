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
  public var rateLimitPolicy: String { field { (("q", $0.limit), ("w", $0.window)) } }

  /// The value of `RateLimit`: `"per-caller";r=29;t=2, "daily";r=0;t=3600`.
  public var rateLimit: String { field { (("r", $0.remaining), ("t", $0.reset)) } }

  private typealias Parameter = (name: Unicode.Scalar, value: Int64)

  /// A list of names, each with two parameters.
  private func field(_ parameters: (AllowanceCount) -> (Parameter, Parameter)) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(48 * count)
    for status in self {
      if !bytes.isEmpty { bytes += [UInt8(ascii: ","), UInt8(ascii: " ")] }
      Self.append(name: status.rule, to: &bytes)
      let (first, second) = parameters(status.count)
      Self.append(first, to: &bytes)
      Self.append(second, to: &bytes)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A name as a string of RFC 9651 §3.3.3; what such a string cannot hold is left out.
  private static func append(name: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in name.utf8 where (0x20...0x7E).contains(byte) {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// A parameter with an integer that is not negative.
  private static func append(_ parameter: Parameter, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: ";"))
    bytes.append(UInt8(ascii: parameter.name))
    bytes.append(UInt8(ascii: "="))
    var rest = Swift.max(0, parameter.value)
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }
}
