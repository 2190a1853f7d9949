internal import Glibc

/// An IPv4 or IPv6 address.
///
/// An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`), which a dual-stack listener reports for IPv4 peers, is the IPv4
/// address: rules must not be passed by choosing the other spelling.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// The version.
  public enum Version: Sendable { case v4, v6 }

  /// The version.
  public let version: Version
  /// The first 64 bits of an IPv6 address; 0 for IPv4.
  let high: UInt64
  /// The last 64 bits of an IPv6 address, or the 32 bits of an IPv4 address.
  let low: UInt64

  /// Makes an IPv4 address from its 32 bits, most significant octet first.
  public init(v4 bits: UInt32) {
    version = .v4
    high = 0
    low = UInt64(bits)
  }

  /// Makes an address from the two halves of 128 bits, most significant octet first.
  public init(v6High high: UInt64, low: UInt64) {
    let isMapped = high == 0 && low >> 32 == 0xFFFF
    version = isMapped ? .v4 : .v6
    self.high = high
    self.low = isMapped ? low & 0xFFFF_FFFF : low
  }

  /// Reads the usual forms: dotted decimal, or RFC 4291 §2.2 without zone. Nil for anything else.
  public init?(_ text: String) {
    // inet_pton(3) reads up to a NUL and would not see what follows.
    guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
    var v4 = in_addr()
    if inet_pton(AF_INET, text, &v4) == 1 {
      self.init(v4: UInt32(bigEndian: v4.s_addr))
      return
    }
    var v6 = in6_addr()
    guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
    self.init(v6)
  }

  init(_ address: in6_addr) {
    let (high, low) = withUnsafeBytes(of: address) {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    self.init(v6High: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
  }

  var in6: in6_addr {
    var address = in6_addr()
    withUnsafeMutableBytes(of: &address) {
      $0.storeBytes(of: high.bigEndian, as: UInt64.self)
      $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return address
  }

  /// The octets, most significant first: 4 or 16.
  public var octets: [UInt8] {
    switch version {
    case .v4: (0..<4).map { UInt8(truncatingIfNeeded: low >> (24 - $0 * 8)) }
    case .v6: (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> (56 - $0 % 8 * 8)) }
    }
  }

  /// Whether the first bits equal those of another address of the same version.
  ///
  /// - Parameter length: how many bits, 0–32 or 0–128; more compares all.
  public func hasPrefix(_ other: IPAddress, length: Int) -> Bool {
    guard version == other.version else { return false }
    switch version {
    case .v4:
      return length <= 0 || (low ^ other.low) >> UInt64(32 - min(length, 32)) == 0
    case .v6:
      guard length > 0 else { return true }
      guard length > 64 else { return (high ^ other.high) >> UInt64(64 - length) == 0 }
      return high == other.high && (low ^ other.low) >> UInt64(128 - min(length, 128)) == 0
    }
  }

  /// Whether this is 127.0.0.0/8 or `::1`.
  public var isLoopback: Bool {
    switch version {
    case .v4: low >> 24 == 127
    case .v6: high == 0 && low == 1
    }
  }

  /// Dotted decimal, or the form of RFC 5952.
  public var description: String {
    switch version {
    case .v4:
      return "\(low >> 24 & 255).\(low >> 16 & 255).\(low >> 8 & 255).\(low & 255)"
    case .v6:
      var address = in6
      var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      // inet_ntop(3) cannot fail with a buffer of this size.
      inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count))
      return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}
