// A network of IP addresses.

public import Documents
public import Platform

/// A block of addresses, such as `203.0.113.0/24` (RFC 4632, RFC 4291 §2.3).
public struct CIDR: Hashable, Sendable, CustomStringConvertible {
  /// The first address of the block.
  public let base: IPAddress
  /// The number of leading bits that all addresses of the block share: 0–32, or 0–128 for IPv6.
  public let prefixLength: Int
  private let maskHigh, maskLow: UInt64

  /// Reads a block, or a single address. Throws for any other text, and if bits after the prefix are set.
  public init(_ text: String) throws(Refusal) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let malformed = Refusal(
      "\(quoted(text)) is not a network of addresses",
      "write it as \"203.0.113.0/24\", \"2001:db8::/32\", or a single address")
    guard parts.count <= 2, let address = IPAddress(String(parts[0])) else { throw malformed }
    let mapped = address.isV4 && parts[0].utf8.contains(UInt8(ascii: ":"))
    let width = address.isV4 && !mapped ? 32 : 128
    var length = width
    if parts.count == 2 {
      let digits = parts[1].utf8
      guard (1...3).contains(digits.count), digits.allSatisfy(\.isASCIIDigit),
        digits.count == 1 || digits.first != UInt8(ascii: "0")
      else { throw malformed }
      length = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
    // An IPv4-mapped network such as ::ffff:10.0.0.0/104 equals its IPv4 network.
    guard length <= width, !mapped || length >= 96 else { throw malformed }
    self.init(containing: address, prefixLength: mapped ? length - 96 : length)
    guard base == address else {
      throw Refusal(
        "\(quoted(text)) has bits set after its first \(prefixLength)",
        "write \"\(self)\" for the network, or \"\(address)\" for the single address")
    }
  }

  /// Creates the block with a prefix length that contains an address.
  private init(containing address: IPAddress, prefixLength: Int) {
    self.prefixLength = prefixLength
    let bits = address.isV4 ? 96 + prefixLength : prefixLength
    maskHigh = bits >= 64 ? .max : ~(UInt64.max >> UInt64(bits))
    maskLow = bits <= 64 ? 0 : ~(bits == 128 ? 0 : UInt64.max >> UInt64(bits - 64))
    base =
      address.isV4
      ? IPAddress(v4: UInt32(truncatingIfNeeded: address.low & maskLow))
      : IPAddress(v6High: address.high & maskHigh, low: address.low & maskLow)
  }

  /// Whether an address lies in the block; an IPv4 address never lies in an IPv6 one.
  @inline(__always) public func contains(_ address: IPAddress) -> Bool {
    address.isV4 == base.isV4 && address.high & maskHigh == base.high && address.low & maskLow == base.low
  }

  /// Whether the block covers so much of the Internet that it must be a mistake: a prefix shorter than 8 bits
  /// for IPv4 or 16 bits for IPv6, except in the private and link-local blocks fc00::/7 and fe80::/10.
  public var isOverBroad: Bool {
    if base.isV4 { return prefixLength < 8 }
    let isLocal =
      (prefixLength >= 7 && base.high >> 57 == 0x7E) || (prefixLength >= 10 && base.high >> 54 == 0x3FA)
    return prefixLength < 16 && !isLocal
  }

  public var description: String { "\(base)/\(prefixLength)" }
}
