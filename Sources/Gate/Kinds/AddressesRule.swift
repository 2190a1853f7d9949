// The rule that admits or refuses clients by their IP address.

public import Documents
import Platform

/// Allowed and denied networks. The most specific network that contains the client's address decides; on a
/// tie the address is denied.
public struct AddressesRule: Sendable {
  private let allow: [CIDR]
  private let deny: [CIDR]

  /// Creates a rule from networks such as `203.0.113.0/24`. Throws if a network is malformed, covers a large
  /// part of the Internet, or is both allowed and denied. Also throws if both lists are empty.
  public init(allow: [String] = [], deny: [String] = []) throws(Refusal) {
    guard !allow.isEmpty || !deny.isEmpty else {
      throw Refusal(at: "allow", "the rule names no network", "list networks under \"allow\" or \"deny\"")
    }
    self.allow = try Self.networks(allow, key: "allow")
    self.deny = try Self.networks(deny, key: "deny")
    let allowed = Set(self.allow)
    if let both = self.deny.first(where: allowed.contains) {
      throw Refusal(at: "deny", "\"\(both)\" is allowed as well", "keep it in one of the lists")
    }
  }

  private static func networks(_ texts: [String], key: String) throws(Refusal) -> [CIDR] {
    var networks: [CIDR] = []
    for (index, text) in texts.enumerated() {
      let network: CIDR
      do {
        network = try CIDR(text)
      } catch {
        throw error.under("\(key)[\(index)]")
      }
      guard !network.isOverBroad else {
        throw Refusal(
          at: "\(key)[\(index)]", "\(quoted(text)) covers a large part of all addresses",
          "name smaller networks: at least /8 for IPv4, /16 for IPv6")
      }
      networks.append(network)
    }
    // Put the most specific networks first, so that the first match is the longest.
    return networks.sorted { $0.prefixLength > $1.prefixLength }
  }

  /// Whether the rule allows a client with this address. An unknown address is denied.
  func allows(_ address: IPAddress?) -> Bool {
    guard let address else { return false }
    let allowed = Self.longestMatch(allow, address)
    let denied = Self.longestMatch(deny, address)
    guard allowed >= 0 else { return allow.isEmpty && denied < 0 }
    return allowed > denied
  }

  /// The reason for the verdict: the network that decided, or that no network contains the address.
  func reason(_ address: IPAddress?) -> String {
    guard let address else { return "the client's address is unknown" }
    let allowed = allow.first { $0.contains(address) }
    let denied = deny.first { $0.contains(address) }
    if let denied, denied.prefixLength >= allowed?.prefixLength ?? -1 {
      return "\(address) is in \(denied), which is denied"
    }
    if let allowed { return "\(address) is in \(allowed), which is allowed" }
    return "\(address) is in none of the \(allow.isEmpty ? "denied" : "allowed") networks"
  }

  private static func longestMatch(_ networks: [CIDR], _ address: IPAddress) -> Int {
    for index in networks.indices where networks[index].contains(address) {
      return networks[index].prefixLength
    }
    return -1
  }
}
