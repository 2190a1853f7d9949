// Whose address a request comes from, behind proxies or not.

internal import Gate
internal import HTTP
internal import Platform

/// Finds the client's address. `X-Forwarded-For` is a claim anyone can make, so it is believed only from
/// configured proxies, and only the entry that the outermost of them wrote: counted from the right, because clients can
/// put anything to the left of it.
struct ClientAddress: Sendable {
  private let trusted: [CIDR]
  private let hops: Int

  /// - Parameters:
  ///   - trusted: The proxies' own addresses.
  ///   - hops: How many entries of the field the proxies wrote; 0 ignores it.
  init(trusted: [CIDR], hops: Int) {
    self.trusted = trusted
    self.hops = hops
  }

  /// The client's address: what the proxies say, or the connection's peer where nothing can be believed.
  func resolve(_ request: borrowing Request, peer: IPAddress) -> IPAddress {
    guard hops > 0, !trusted.isEmpty, trusted.contains(where: { $0.contains(peer) }) else {
      return peer
    }
    // Several lines mean one list (RFC 9110 §5.3).
    let lines = request.values(of: .xForwardedFor).map(request.string)
    let entries = lines.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
    guard entries.count >= hops else { return peer }
    // Junk where a trusted proxy should have written an address: believe what is certain.
    return Self.address(entries[entries.count - hops].trimmed) ?? peer
  }

  /// An entry's address: alone, or with the port that some proxies write, `192.0.2.1:4711` or `[2001:db8::1]:4711`.
  private static func address(_ entry: some StringProtocol) -> IPAddress? {
    if let address = IPAddress(String(entry)) { return address }
    guard let colon = entry.lastIndex(of: ":"), UInt16(entry[entry.index(after: colon)...]) != nil else {
      return entry.hasPrefix("[") && entry.hasSuffix("]")
        ? IPAddress(String(entry.dropFirst().dropLast())) : nil
    }
    let host = entry[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { return IPAddress(String(host.dropFirst().dropLast())) }
    return host.contains(":") ? nil : IPAddress(String(host))
  }
}
