// Decides whether a `Host` header names this machine in a way that a hostile web page cannot fake.

/// Distinguishes requests for this machine from those that a browser was tricked into sending to it.
///
/// After loading, a page of any site can point its own name to this machine (DNS rebinding). The browser then
/// treats this server as a part of that site. `Host` still has the page's name, and a site cannot redirect an
/// address or `localhost`.
public enum LocalName {
  /// Whether a `Host` field (RFC 9110 §7.2) names this machine: as `localhost`, by a loopback address, or by
  /// the listener's address. If the server listens on all addresses, any address names it.
  ///
  /// - Parameters:
  ///   - host: the field's value, `uri-host [ ":" port ]`, as the request parser has accepted it.
  ///   - address: the configured address, if it is not a loopback address.
  public static func isMeant(by host: String, listeningOn address: IPAddress? = nil) -> Bool {
    guard let name = name(in: host) else { return false }
    // This bit is the case of a letter. Other octets that differ only by it do not occur in host names.
    if name.map({ $0 | 0x20 }).elementsEqual("localhost".utf8) { return true }
    guard let named = IPAddress(octets: name) else { return false }
    if named.isLoopback { return true }
    guard let address else { return false }
    return address == named || address.octets.allSatisfy { $0 == 0 }
  }

  /// Whether no foreign site can point the name in a `Host` field to this machine. True for `localhost`, and
  /// for any IP address, such as the address by which an emulator reaches its host. If the listener is not on
  /// loopback, also true for a name in `.local` (RFC 6762), which no name server of the Internet serves.
  ///
  /// - Parameters:
  ///   - host: the field's value, as for `isMeant`.
  ///   - address: the listener's address.
  public static func isUnclaimable(_ host: String, listeningOn address: IPAddress? = nil) -> Bool {
    if isMeant(by: host, listeningOn: address) { return true }
    guard let name = name(in: host) else { return false }
    if IPAddress(octets: name) != nil { return true }
    guard let address, !address.isLoopback else { return false }
    let suffix = Array(".local".utf8)
    return name.count > suffix.count
      && name.suffix(suffix.count).map { $0 | 0x20 }.elementsEqual(suffix.map { $0 | 0x20 })
  }

  /// The name or address in `uri-host [ ":" port ]`; nil if a bracket is not closed.
  private static func name(in host: String) -> ArraySlice<UInt8>? {
    let name = Array(host.utf8)[...]
    if name.first == UInt8(ascii: "[") {
      return name.firstIndex(of: UInt8(ascii: "]")).map { name[1..<$0] }
    }
    return name.firstIndex(of: UInt8(ascii: ":")).map { name[..<$0] } ?? name
  }
}
