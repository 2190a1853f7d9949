/// A block of IP addresses in CIDR notation (RFC 4632, RFC 4291 §2.3).
public struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
  /// The block's first address: 4 or 16 bytes, the host's bits zero.
  public let address: [UInt8]
  /// How many leading bits all its addresses share: 0–32 or 0–128.
  public let prefixLength: Int

  /// Whether an address of 4 or 16 bytes lies in the block. An IPv4 address mapped into IPv6 counts as IPv4.
  public func contains(_ candidate: some Collection<UInt8>) -> Bool {
    var bytes = Array(candidate)
    if bytes.count == 16, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
      bytes.removeFirst(12)
    }
    guard bytes.count == address.count else { return false }
    return Self.masked(bytes, prefixLength) == address
  }

  /// The notation: `10.0.0.0/8`.
  public var description: String { "\(IPAddressText.text(of: address))/\(prefixLength)" }

  /// Reads `ADDRESS/LENGTH`, or an address alone for a block of one. The host's bits must be zero: an address that
  /// looks like one machine and matches millions is more often a slip than a wish.
  static func read(_ text: String) throws(Refusal) -> IPNetwork {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let bytes = IPAddressText.bytes(of: String(parts[0])) else {
      throw Refusal("\(quoted(text)) is not an address block", "write it as 10.0.0.0/8 or 2001:db8::/32")
    }
    guard parts.count == 2 else { return IPNetwork(address: bytes, prefixLength: bytes.count * 8) }
    guard let length = Digits.read(parts[1], in: 0...bytes.count * 8) else {
      throw Refusal(
        "\(quoted(text)) has no prefix length from 0 to \(bytes.count * 8)",
        "write it as \(bytes.count == 4 ? "10.0.0.0/8" : "2001:db8::/32")")
    }
    let first = masked(bytes, length)
    guard first == bytes else {
      throw Refusal(
        "\(quoted(text)) has bits set beyond its prefix",
        "write \(IPAddressText.text(of: first))/\(length), or \(IPAddressText.text(of: bytes)) for the one address"
      )
    }
    return IPNetwork(address: bytes, prefixLength: length)
  }

  private static func masked(_ bytes: [UInt8], _ length: Int) -> [UInt8] {
    bytes.indices.map { index in
      let bits = length - index * 8
      if bits >= 8 { return bytes[index] }
      return bits <= 0 ? 0 : bytes[index] & ~(UInt8.max >> UInt8(bits))
    }
  }
}
