// Reads, writes and compares IPv4 and IPv6 addresses.

import Glibc

/// An IPv4 or IPv6 address.
///
/// An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`), which a dual-stack listener reports for IPv4 peers, is
/// the IPv4 address: no client can get around a rule by choosing the other spelling.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  public enum Version: Sendable { case v4, v6 }

  public let version: Version
  /// The first 64 bits of an IPv6 address; 0 for IPv4.
  public let high: UInt64
  /// The last 64 bits of an IPv6 address, or the 32 bits of an IPv4 address.
  public let low: UInt64

  /// Whether this is an IPv4 address.
  public var isV4: Bool { version == .v4 }

  /// Makes an IPv4 address from its 32 bits, most significant octet first.
  public init(v4 bits: UInt32) {
    version = .v4
    high = 0
    low = UInt64(bits)
  }

  /// Makes an address from the two halves of 128 bits, most significant octet first. A mapped IPv4 address
  /// becomes an IPv4 address.
  public init(v6High high: UInt64, low: UInt64) {
    let isMapped = high == 0 && low >> 32 == 0xFFFF
    version = isMapped ? .v4 : .v6
    self.high = high
    self.low = isMapped ? low & 0xFFFF_FFFF : low
  }

  /// Reads `203.0.113.9` or `2001:db8::1`; nil for anything else, zones (`%eth0`) and ports included.
  public init?(_ text: String) { self.init(octets: Array(text.utf8)[...]) }

  /// Reads the octets of an address as text; see `init(_:)`.
  public init?(octets bytes: ArraySlice<UInt8>) {
    guard bytes.count <= 45 else { return nil }
    guard bytes.contains(UInt8(ascii: ":")) else {
      guard let bits = Self.v4(bytes) else { return nil }
      self.init(v4: bits)
      return
    }
    guard let groups = Self.v6(bytes) else { return nil }
    self.init(
      v6High: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) },
      low: groups[4...].reduce(0) { $0 << 16 | UInt64($1) })
  }

  private static func v4(_ bytes: ArraySlice<UInt8>) -> UInt32? {
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bits: UInt32 = 0
    for part in parts {
      // A leading zero means octal to some readers: ambiguous, so it is refused.
      guard (1...3).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }),
        part.count == 1 || part.first != UInt8(ascii: "0")
      else { return nil }
      let value = part.reduce(UInt32(0)) { $0 * 10 + UInt32($1 - 0x30) }
      guard value <= 255 else { return nil }
      bits = bits << 8 | value
    }
    return bits
  }

  /// The eight groups of an IPv6 address (RFC 4291 §2.2).
  private static func v6(_ bytes: ArraySlice<UInt8>) -> [UInt16]? {
    var head: [UInt16] = []
    var tail: [UInt16]?
    var rest = bytes
    func take(_ group: UInt16) {
      if tail == nil { head.append(group) } else { tail?.append(group) }
    }
    if rest.starts(with: "::".utf8) {
      tail = []
      rest = rest.dropFirst(2)
    }
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
      let part = rest[rest.startIndex..<end]
      if part.contains(UInt8(ascii: ".")) {
        guard end == rest.endIndex, let bits = v4(part) else { return nil }
        take(UInt16(bits >> 16))
        take(UInt16(bits & 0xFFFF))
        break
      }
      guard (1...4).contains(part.count) else { return nil }
      var group: UInt16 = 0
      for byte in part {
        guard let digit = hexDigit(byte) else { return nil }
        group = group << 4 | digit
      }
      take(group)
      if end == rest.endIndex { break }
      rest = rest[(end + 1)...]
      if rest.first == UInt8(ascii: ":") {
        guard tail == nil else { return nil }
        tail = []
        rest = rest.dropFirst()
      } else if rest.isEmpty {
        return nil
      }
    }
    guard let tail else { return head.count == 8 ? head : nil }
    let gap = 8 - head.count - tail.count
    return gap >= 1 ? head + [UInt16](repeating: 0, count: gap) + tail : nil
  }

  private static func hexDigit(_ byte: UInt8) -> UInt16? {
    switch byte {
    case 0x30...0x39: UInt16(byte - 0x30)
    case 0x41...0x46: UInt16(byte - 0x37)
    case 0x61...0x66: UInt16(byte - 0x57)
    default: nil
    }
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
  /// - Parameter length: The number of bits to compare, 0–32 or 0–128; a larger number compares all.
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

  /// Whether these are the octets of a host: labels of letters, digits, hyphens and underscores (RFC 1123
  /// §2.1), or an IPv4 address. If the last label begins with a digit, the host must be a complete IPv4
  /// address: some resolvers accept `2130706433` and `0x7f.1` as addresses (WHATWG URL §3.5).
  public static func isHostName(_ host: ArraySlice<UInt8>) -> Bool {
    let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isValid = labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
        && label.allSatisfy { octet in
          switch octet {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
          default: false
          }
        }
    }
    guard isValid, host.count <= 253, let first = labels.last?.first else { return false }
    return !(0x30...0x39).contains(first) || IPAddress(octets: host) != nil
  }

  /// Whether this is 127.0.0.0/8 or `::1`.
  public var isLoopback: Bool {
    switch version {
    case .v4: low >> 24 == 127
    case .v6: high == 0 && low == 1
    }
  }

  /// Whether the address is valid only within a machine, a site or a carrier's network: loopback, private
  /// (RFC 1918, RFC 4193), link-local (RFC 3927, RFC 4291 §2.5.6) or shared by a carrier's customers
  /// (100.64.0.0/10, RFC 6598).
  public var isInternal: Bool {
    if isLoopback { return true }
    switch version {
    case .v4:
      return low >> 24 == 10 || low >> 20 == 0xAC1 || low >> 16 == 0xC0A8 || low >> 16 == 0xA9FE
        || low >> 22 == 0x6440 >> 6
    case .v6: return high >> 57 == 0xFC >> 1 || high >> 54 == 0xFE80 >> 6
    }
  }

  /// The maximum length of an address as text, in octets.
  public static let mostOctets = 45

  /// The address in its one canonical form (RFC 5952).
  public var description: String {
    let octets = [UInt8](capacity: Self.mostOctets) { append(to: &$0) }
    return String(decoding: octets, as: UTF8.self)
  }

  /// Appends the description's octets: every audit line carries an address.
  public func append(to output: inout OutputSpan<UInt8>) {
    guard isV4 else { return appendGroups(to: &output) }
    for shift in stride(from: UInt64(24), through: 0, by: -8) {
      let number = low >> shift & 0xFF
      // Constant divisors: the compiler multiplies instead of dividing.
      if number >= 100 { output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 100)) }
      if number >= 10 { output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10 % 10)) }
      output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
      if shift > 0 { output.append(UInt8(ascii: ".")) }
    }
  }

  private func appendGroups(to output: inout OutputSpan<UInt8>) {
    // The longest run of two or more zero groups, the first of equals, is written as "::".
    var best = 0..<0
    var start = 0
    while start < 8 {
      var end = start
      while end < 8, group(end) == 0 { end += 1 }
      if end - start >= 2, end - start > best.count { best = start..<end }
      start = max(end, start + 1)
    }
    var index = 0
    while index < 8 {
      if !best.isEmpty, index == best.lowerBound {
        output.append(UInt8(ascii: ":"))
        output.append(UInt8(ascii: ":"))
        index = best.upperBound
        continue
      }
      if index > 0, best.isEmpty || index != best.upperBound { output.append(UInt8(ascii: ":")) }
      append(hexadecimal: group(index), to: &output)
      index += 1
    }
  }

  /// One of the eight groups of an IPv6 address.
  private func group(_ index: Int) -> UInt64 {
    (index < 4 ? high : low) >> UInt64(48 - 16 * (index % 4)) & 0xFFFF
  }

  private func append(hexadecimal group: UInt64, to output: inout OutputSpan<UInt8>) {
    var shift: UInt64 = group > 0xFFF ? 12 : group > 0xFF ? 8 : group > 0xF ? 4 : 0
    while true {
      let digit = UInt8(truncatingIfNeeded: group >> shift & 0xF)
      output.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
      if shift == 0 { return }
      shift -= 4
    }
  }

  /// The address by which a client is counted: an IPv4 address, or the /64 network of an IPv6 address,
  /// because one customer has at least such a network.
  public var client: IPAddress { isV4 ? self : IPAddress(v6High: high, low: 0) }
}

/// Conversion to and from the kernel's form.
extension IPAddress {
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
}
