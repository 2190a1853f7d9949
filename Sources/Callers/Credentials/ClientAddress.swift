// Finds the IP address of the client, with or without trusted proxies in between.

package import Gate
package import HTTP
package import Platform

/// Finds the client's address. Anyone can send `X-Forwarded-For`, so the server trusts the field only from
/// configured proxies, and only the entry that the outermost of them wrote. Entries are counted from the
/// right, because clients can write anything to the left.
package struct ClientAddress: Sendable {
  private let trusted: [CIDR]
  private let hops: Int
  /// Remembers the first proxy that is not trusted.
  package let untrusted = UntrustedProxy()

  /// - Parameters:
  ///   - trusted: The addresses of the trusted proxies.
  ///   - hops: How many entries of `X-Forwarded-For` the proxies wrote; 0 ignores the proxies' fields.
  package init(trusted: [CIDR], hops: Int) {
    self.trusted = trusted
    self.hops = hops
  }

  /// The client's address from trusted proxies, otherwise the connection's peer.
  package func resolve(_ request: borrowing Request, peer: IPAddress) -> IPAddress {
    guard trusted.contains(where: { $0.contains(peer) }) else {
      untrusted.look(at: request, from: peer)
      return peer
    }
    guard hops > 0 else { return peer }
    // Several lines form one list (RFC 9110 §5.3). The search for commas goes from the right, over octets:
    // the client may have written anything on the left.
    var left = hops
    for line in request.values(of: .xForwardedFor).reversed() {
      var end = line.upperBound
      while true {
        var start = end
        while start > line.lowerBound, request.head[start - 1] != UInt8(ascii: ",") { start -= 1 }
        left -= 1
        // This entry is the outermost proxy's. If it is not an address, only the peer's address is certain.
        if left == 0 { return Self.address(request.head[start..<end].trimmed) ?? peer }
        if start == line.lowerBound { break }
        end = start - 1
      }
    }
    return peer
  }

  /// The scheme by which the client reached trusted proxies, as the outermost of them wrote it in
  /// `X-Forwarded-Proto`. Nil if the peer is not a trusted proxy, or if the proxies wrote neither `http` nor
  /// `https`.
  func scheme(_ request: borrowing Request, peer: IPAddress) -> String? {
    guard hops > 0, trusted.contains(where: { $0.contains(peer) }) else { return nil }
    let entries = request.values(of: .xForwardedProto).flatMap { request.head[$0].elements() }
    guard let entry = entries.suffix(hops).first else { return nil }
    return entry.equals(lowercase: "https") ? "https" : entry.equals(lowercase: "http") ? "http" : nil
  }

  /// An entry's address, with or without the port that some proxies write: `192.0.2.1:4711` or
  /// `[2001:db8::1]:4711`.
  private static func address(_ entry: ArraySlice<UInt8>) -> IPAddress? {
    if let address = IPAddress(octets: entry) { return address }
    if entry.first == UInt8(ascii: "[") {
      guard let end = entry.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      let rest = entry[(end + 1)...]
      return rest.isEmpty || isPort(rest) ? IPAddress(octets: entry[(entry.startIndex + 1)..<end]) : nil
    }
    guard let colon = entry.firstIndex(of: UInt8(ascii: ":")), isPort(entry[colon...]) else { return nil }
    return IPAddress(octets: entry[..<colon])
  }

  /// Whether the octets are a colon and a port.
  private static func isPort(_ octets: ArraySlice<UInt8>) -> Bool {
    octets.first == UInt8(ascii: ":") && octets.dropFirst().decimal(digits: 5).map { $0 <= 65_535 } == true
  }
}
