// Decides from `NO_PROXY` which hosts are reached without a proxy.

import Platform

/// The hosts to reach without a proxy, as `NO_PROXY` lists them and libcurl reads them.
///
/// Commas or spaces separate entries. A name covers itself and all names below it, with or without a leading
/// dot. An address covers itself, an address with `/bits` that network, and a lone `*` everything.
struct ProxyExceptions: Hashable {
  private enum Entry: Hashable {
    case name(String)
    case network(IPAddress, prefixLength: Int)
  }

  private let everything: Bool
  private let entries: [Entry]

  init(_ list: String) {
    let parts = list.split { $0 == "," || $0 == " " || $0 == "\t" }
    everything = parts == ["*"]
    entries = parts.compactMap { Self.entry(String($0).lowercased()) }
  }

  /// Whether a target's host is listed.
  func contain(_ target: Target) -> Bool {
    guard !everything else { return true }
    if target.kind == .name {
      return entries.contains { entry in
        guard case .name(let name) = entry else { return false }
        return target.host == name || target.host.hasSuffix("." + name)
      }
    }
    guard let address = IPAddress(target.host) else { return false }
    return entries.contains { entry in
      guard case .network(let network, let prefixLength) = entry else { return false }
      return address.hasPrefix(network, length: prefixLength)
    }
  }

  private static func entry(_ text: String) -> Entry? {
    var address = text
    var bits: Int?
    if let slash = text.lastIndex(of: "/") {
      let digits = text[text.index(after: slash)...]
      guard digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let number = Int(digits)
      else {
        return nil
      }
      bits = number
      address = String(text[..<slash])
    }
    if address.hasPrefix("["), address.hasSuffix("]") { address = String(address.dropFirst().dropLast()) }
    if let network = IPAddress(address) {
      let width = network.octets.count * 8
      return (bits ?? width) <= width ? .network(network, prefixLength: bits ?? width) : nil
    }
    guard bits == nil else { return nil }
    var name = Substring(text)
    if name.hasPrefix(".") { name = name.dropFirst() }
    if name.hasSuffix(".") { name = name.dropLast() }
    return name.isEmpty ? nil : .name(String(name))
  }
}
