// The ID that connects a response with its log lines: the client's `X-Request-Id`, or a random one.

import HTTP
public import Texts

/// The ID that links a response to its log lines: the request's `X-Request-Id` if it is valid, otherwise 32
/// random hexadecimal digits.
public struct RequestID: Hashable, Sendable, CustomStringConvertible {
  @usableFromInline enum Form: Hashable, Sendable {
    /// A random ID, stored as digits, because each response and each audit line contains them.
    case random(HexadecimalDigits, HexadecimalDigits)
    case given(String)
  }
  @usableFromInline let form: Form

  /// Makes a random id.
  public init() {
    var generator = SystemRandomNumberGenerator()
    form = .random(HexadecimalDigits(generator.next()), HexadecimalDigits(generator.next()))
  }

  /// Accepts a text of 1–128 letters, digits, dots, underscores and hyphens; nil for anything else.
  public init?(_ text: String) {
    guard (1...Self.mostOctets).contains(text.utf8.count), text.utf8.allSatisfy(Self.isSane) else {
      return nil
    }
    form = .given(text)
  }

  /// Reads the request's `X-Request-Id`; nil if it is missing or invalid.
  init?(of request: borrowing Request) {
    guard let value = request.value(of: .xRequestID), (1...Self.mostOctets).contains(value.count),
      request.head[value].allSatisfy(Self.isSane)
    else { return nil }
    form = .given(request.string(value))
  }

  init(from generator: inout RequestIDGenerator) {
    let (a, b) = generator.next()
    form = .random(HexadecimalDigits(a), HexadecimalDigits(b))
  }

  /// The maximum length of an ID, in octets.
  public static let mostOctets = 128

  /// The id as in fields and logs.
  public var description: String {
    switch form {
    case .given(let text): return text
    case .random:
      var octets: [UInt8] = []
      octets.append(upTo: Self.mostOctets) { append(to: &$0) }
      return String(decoding: octets, as: UTF8.self)
    }
  }

  /// Appends the ID without making a string, because every audit line and response contains one.
  @inlinable public func append(to output: inout OutputSpan<UInt8>) {
    switch form {
    case .given(let text): output.append(utf8: text)
    case .random(let a, let b):
      output.append(a)
      output.append(b)
    }
  }

  private static func isSane(_ octet: UInt8) -> Bool {
    switch octet {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}

/// A generator of request IDs that needs no system call for each: SplitMix64 with a random start. IDs must
/// differ, but need not be secret.
struct RequestIDGenerator {
  private var state: UInt64
  private let stream: UInt64

  init() {
    var generator = SystemRandomNumberGenerator()
    state = generator.next()
    stream = generator.next()
  }

  mutating func next() -> (UInt64, UInt64) {
    state &+= 0x9E37_79B9_7F4A_7C15
    return (Self.mix(state), Self.mix(state ^ stream))
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    var z = value
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
