// Writes the headers `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10, sections 3
// and 4).

/// The status of a rule's allowance, as responses show it to clients.
public struct AllowanceStatus: Hashable, Sendable {
  /// The rule's name.
  public var rule: String
  /// The remaining requests and the limit.
  public var count: AllowanceCount
  /// Whether the rule is a brake. Responses leave brakes out of these headers.
  public var isBrake: Bool

  public init(rule: String, count: AllowanceCount, isBrake: Bool = false) {
    self.rule = rule
    self.count = count
    self.isBrake = isBrake
  }
}

extension [AllowanceStatus] {
  /// The value of `RateLimit-Policy`: `"per-caller";q=30;w=60, "daily";q=5;w=86400`.
  public var rateLimitPolicy: String {
    field(UInt8(ascii: "q"), UInt8(ascii: "w")) { ($0.limit, $0.window) }
  }

  /// The value of `RateLimit`: `"per-caller";r=29;t=2, "daily";r=0;t=3600`.
  public var rateLimit: String {
    field(UInt8(ascii: "r"), UInt8(ascii: "t")) { ($0.remaining, $0.reset) }
  }

  /// A list of rule names, each with two integer parameters. A name is a string of RFC 9651 §3.3.3.
  /// Characters that such a string cannot contain are left out.
  @inline(__always) private func field(
    _ first: UInt8, _ second: UInt8, _ values: (AllowanceCount) -> (Int64, Int64)
  ) -> String {
    // In the worst case, every byte of a name is escaped. Each entry also has two numbers and ten other
    // bytes.
    let capacity = reduce(0) { $0 + 2 * $1.rule.utf8.count + 2 * StatusWriter.mostDigits + 10 }
    return unsafe String(unsafeUninitializedCapacity: capacity) { buffer in
      var text = unsafe StatusWriter(buffer)
      for status in self {
        if text.end > 0 { text.put(UInt8(ascii: ","), UInt8(ascii: " ")) }
        text.put(name: status.rule)
        let (firstValue, secondValue) = values(status.count)
        text.put(first, firstValue)
        text.put(second, secondValue)
      }
      return text.end
    }
  }
}

/// Writes into a buffer that is known to be long enough.
@safe private struct StatusWriter {
  /// The number of digits of the largest `Int64`.
  static let mostDigits = 19

  private let buffer: UnsafeMutableBufferPointer<UInt8>
  private(set) var end = 0

  @unsafe init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { unsafe self.buffer = buffer }

  @inline(__always) private mutating func put(_ byte: UInt8) {
    unsafe buffer[end] = byte
    end += 1
  }

  @inline(__always) mutating func put(_ first: UInt8, _ second: UInt8) {
    put(first)
    put(second)
  }

  @inline(__always) mutating func put(name: String) {
    put(UInt8(ascii: "\""))
    // Read the name in place. Only a name that is not contiguous UTF-8 is copied first.
    var name = name
    name.withUTF8 { bytes in
      for index in bytes.indices {
        let byte = unsafe bytes[index]
        guard (0x20...0x7E).contains(byte) else { continue }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { put(UInt8(ascii: "\\")) }
        put(byte)
      }
    }
    put(UInt8(ascii: "\""))
  }

  /// Writes a parameter with an integer that is not negative.
  @inline(__always) mutating func put(_ name: UInt8, _ value: Int64) {
    put(UInt8(ascii: ";"), name)
    put(UInt8(ascii: "="))
    var rest = UInt64(clamping: value)
    var digits = 1
    var bound: UInt64 = 10
    while digits < Self.mostDigits, rest >= bound {
      digits += 1
      bound *= 10
    }
    end += digits
    // Write two digits at a time, because divisions are slow.
    var index = end
    while rest >= 100 {
      let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
      let tens = UInt8(truncatingIfNeeded: pair / 10)
      index -= 2
      unsafe buffer[index] = UInt8(ascii: "0") + tens
      unsafe buffer[index + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: pair) - tens * 10
      rest = quotient
    }
    if rest >= 10 {
      unsafe buffer[index - 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      index -= 1
      rest /= 10
    }
    unsafe buffer[index - 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest)
  }
}
