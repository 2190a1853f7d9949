import Glibc

/// A literal IP address in its normal form, with the prefix comparison that `NO_PROXY` needs.
struct IPAddress: Hashable, CustomStringConvertible {
  /// Four or sixteen octets in network order.
  let octets: [UInt8]

  init(octets: [UInt8]) {
    precondition(octets.count == 4 || octets.count == 16)
    self.octets = octets
  }

  /// Reads the four-part decimal form and nothing else: no `127.1`, no octal, no hexadecimal.
  init?(ipv4 text: String) {
    var address = in_addr()
    guard text.utf8.allSatisfy({ $0 != 0 }), inet_pton(AF_INET, text, &address) == 1 else { return nil }
    octets = withUnsafeBytes(of: &address) { Array($0) }
  }

  /// Reads the colon form without brackets and without a zone.
  init?(ipv6 text: String) {
    var address = in6_addr()
    guard text.utf8.allSatisfy({ $0 != 0 }), inet_pton(AF_INET6, text, &address) == 1 else { return nil }
    octets = withUnsafeBytes(of: &address) { Array($0) }
  }

  /// Reads either form.
  init?(_ text: String) {
    guard let address = IPAddress(ipv4: text) ?? IPAddress(ipv6: text) else { return nil }
    self = address
  }

  /// The normal form (RFC 5952).
  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let family = octets.count == 4 ? AF_INET : AF_INET6
    guard inet_ntop(family, octets, &text, socklen_t(text.count)) != nil else { return "" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Whether the first bits are those of a network of the same family.
  func isIn(_ network: IPAddress, prefixLength: Int) -> Bool {
    guard network.octets.count == octets.count, (0...(octets.count * 8)).contains(prefixLength) else {
      return false
    }
    let whole = prefixLength / 8
    guard octets[..<whole] == network.octets[..<whole] else { return false }
    let rest = prefixLength % 8
    guard rest > 0 else { return true }
    let mask = ~(UInt8.max >> UInt8(rest))
    return octets[whole] & mask == network.octets[whole] & mask
  }
}
