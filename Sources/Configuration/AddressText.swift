// Reads IP networks and listen addresses from the text of a setting.

import Documents
import Gate
import Platform

/// IP networks in CIDR notation, as text.
package enum NetworkText {
  /// Parses `ADDRESS/LENGTH`, or a single address as a block of one. The host bits must be zero: an address
  /// that looks like one machine and matches millions is usually a mistake. A block that covers a large part
  /// of the Internet is refused, because every client in it could claim any address.
  static let read: @Sendable (String) throws(Refusal) -> CIDR = { text throws(Refusal) in
    let network: CIDR
    do throws(Refusal) {
      network = try CIDR(text)
    } catch {
      throw Refusal(error.message, error.remedy)
    }
    guard !network.isOverBroad else {
      throw Refusal(
        "\(quoted(text)) covers a large part of all addresses",
        "name the proxies' own blocks: at least /8 for IPv4, /16 for IPv6")
    }
    return network
  }
}

/// An address to listen on.
package struct ListenAddress: Sendable, Hashable {
  /// The address as text, without brackets.
  package let host: String
  /// Whether the address is reachable from this machine only.
  package let isLoopback: Bool

  /// Reads an IP address, with or without brackets, or `localhost`.
  static let read: @Sendable (String) throws(Refusal) -> ListenAddress = { text throws(Refusal) in
    if text == "localhost" { return ListenAddress(host: "127.0.0.1", isLoopback: true) }
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isBracketed ? String(text.dropFirst().dropLast()) : text
    guard let address = IPAddress(inner), !isBracketed || inner.contains(":") else {
      throw Refusal(
        "\(quoted(text)) is not an address to listen on",
        "write an IP address: 0.0.0.0 for every interface, 127.0.0.1 for this machine only")
    }
    return ListenAddress(host: "\(address)", isLoopback: address.isLoopback)
  }
}
