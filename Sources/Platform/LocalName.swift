// Whether a request means this machine by a name that no one else can give away.

/// Tells requests for this machine from those that a browser was tricked into sending to it.
///
/// A page of any site can let its own name point to this machine once it is loaded (DNS rebinding); the browser then takes
/// this server for a part of that site. What it asked for still stands in `Host`, and an address or `localhost` is
/// nobody's to point elsewhere.
public enum LocalName {
  /// Whether a `Host` field (RFC 9110 §7.2) names this machine: as `localhost`, by a loopback address, or by the address
  /// that is listened on, which is any address where all of them are.
  ///
  /// - Parameters:
  ///   - host: the field's value, `uri-host [ ":" port ]`, as the parser of requests has let it pass.
  ///   - address: the configured address, where it is not a loopback one.
  public static func isMeant(by host: String, listeningOn address: IPAddress? = nil) -> Bool {
    var name = host[...]
    if name.first == "[" {
      guard let end = name.firstIndex(of: "]") else { return false }
      name = name[name.index(after: name.startIndex)..<end]
    } else if let colon = name.firstIndex(of: ":") {
      name = name[..<colon]
    }
    if name.lowercased() == "localhost" { return true }
    guard let named = IPAddress(String(name)) else { return false }
    if named.isLoopback { return true }
    guard let address else { return false }
    return address == named || address.octets.allSatisfy { $0 == 0 }
  }
}
