// The ID that connects a response with its log lines: the client's `X-Request-Id`, or a random one.

import HTTP

/// The id that links a response to its log lines: the request's own `X-Request-Id` if that is valid, otherwise 32 random hexadecimal
/// digits.
public struct RequestID: Hashable, Sendable, CustomStringConvertible {
  private enum Form: Hashable {
    case random(UInt64, UInt64)
    case given(String)
  }
  private let form: Form

  /// Makes a random one.
  public init() {
    var generator = SystemRandomNumberGenerator()
    form = .random(generator.next(), generator.next())
  }

  /// Takes a text of 1–128 letters, digits, dots, underscores and hyphens; nil for anything else.
  public init?(_ text: String) {
    guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isSane) else { return nil }
    form = .given(text)
  }

  /// The request's own id, if it has one that is sane, or a random one.
  init(of request: borrowing Request, or generator: inout RequestIDGenerator) {
    if let value = request.value(of: .xRequestID), (1...128).contains(value.count),
      request.head[value].allSatisfy(Self.isSane)
    {
      form = .given(request.string(value))
    } else {
      let (a, b) = generator.next()
      form = .random(a, b)
    }
  }

  init(from generator: inout RequestIDGenerator) {
    let (a, b) = generator.next()
    form = .random(a, b)
  }

  /// The id as in fields and logs.
  public var description: String {
    switch form {
    case .given(let text): return text
    case .random:
      var octets: [UInt8] = []
      append(to: &octets)
      return String(decoding: octets, as: UTF8.self)
    }
  }

  /// Appends the id's octets.
  public func append(to octets: inout [UInt8]) {
    switch form {
    case .given(let text): octets.append(contentsOf: text.utf8)
    case .random(let a, let b):
      // At once: every audit line and every answer carries an id.
      let digits = (Self.digits(a >> 32), Self.digits(a), Self.digits(b >> 32), Self.digits(b))
      unsafe withUnsafeBytes(of: digits) { unsafe octets.append(contentsOf: $0) }
    }
  }

  /// The eight hexadecimal digits of the lower half, the highest first in memory.
  private static func digits(_ value: UInt64) -> UInt64 {
    // Each nibble into an octet of its own.
    var spread = value & 0xFFFF_FFFF
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
    spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
    // 6 more carries into the upper half exactly where the nibble is a letter.
    let letters = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return (spread &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).bigEndian
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

/// Makes request ids without a system call each: SplitMix64 over a random start. Ids need to differ, not to be secret.
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
