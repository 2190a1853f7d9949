// Checks the links in a callback's context, which agents may click: absolute URIs (RFC 3986) without scripts
// and files.

import HTTP
import Platform

/// Links that an agent may click: every absolute URI, with or without a fragment, except schemes that a
/// browser runs or opens on the agent's machine. The server never fetches them.
enum AbsoluteURI {
  /// The maximum length of a URI, in octets.
  static let maximumLength = 2048

  private static let refusedSchemes = ["javascript", "data", "file"]

  /// A sentence that says how to fix the text; nil if it is an allowed URI.
  static func fault(in text: String) -> String? {
    let octets = Array(text.utf8)
    guard octets.count <= maximumLength else { return "Give at most \(maximumLength) characters." }
    guard octets.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }) else {
      return "Percent-encode spaces, backslashes, quotes, brackets and everything that is not ASCII."
    }
    guard hasSoundEscapes(octets) else { return "Follow each % with two hexadecimal digits." }
    guard let colon = octets.firstIndex(of: UInt8(ascii: ":")), isScheme(octets[..<colon]) else {
      return "Give an absolute URI, such as https://example.com/orders/1."
    }
    let scheme = octets[..<colon].map(\.lowercasedASCII)
    guard !refusedSchemes.contains(where: { $0.utf8.elementsEqual(scheme) }) else {
      return "Give a URI that is not javascript:, data: or file:."
    }
    var rest = octets[(colon + 1)...]
    if rest.starts(with: "//".utf8) {
      let authority = rest.dropFirst(2).prefix { !"/?#".utf8.contains($0) }
      guard isAuthority(authority) else { return "Give a host, and a port only as a number, after the //." }
      rest = rest[authority.endIndex...]
    }
    // RFC 3986 §3.3 to §3.5: one fragment, and brackets in the host alone.
    guard !rest.contains(where: { "[]".utf8.contains($0) }),
      rest.count(where: { $0 == UInt8(ascii: "#") }) <= 1
    else { return "Percent-encode square brackets, and each # but the first." }
    return nil
  }

  private static func hasSoundEscapes(_ octets: [UInt8]) -> Bool {
    octets.indices.allSatisfy { index in
      octets[index] != UInt8(ascii: "%")
        || index + 2 < octets.count && octets[index + 1].hexValue != nil && octets[index + 2].hexValue != nil
    }
  }

  /// RFC 3986 §3.1.
  private static func isScheme(_ octets: ArraySlice<UInt8>) -> Bool {
    func isLetter(_ octet: UInt8) -> Bool { (0x61...0x7A).contains(octet | 0x20) }
    return octets.first.map(isLetter) == true
      && octets.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
  }

  /// RFC 3986 §3.2: `[ userinfo "@" ] host [ ":" port ]`.
  private static func isAuthority(_ octets: ArraySlice<UInt8>) -> Bool {
    var host = octets
    if let at = octets.firstIndex(of: UInt8(ascii: "@")) {
      guard !octets[..<at].contains(where: { "[]".utf8.contains($0) }) else { return false }
      host = octets[at...].dropFirst()
    }
    if host.first == UInt8(ascii: "[") {
      guard let end = host.firstIndex(of: UInt8(ascii: "]")), isLiteral(host[..<end].dropFirst()) else {
        return false
      }
      let port = host[end...].dropFirst()
      return port.isEmpty || port.first == UInt8(ascii: ":") && isDigits(port.dropFirst())
    }
    let name = host.prefix { $0 != UInt8(ascii: ":") }
    return !name.contains { "@[]".utf8.contains($0) } && isDigits(host[name.endIndex...].dropFirst())
  }

  /// An IP literal (RFC 3986 §3.2.2): an IPv6 address, or `v`, a version, a dot and that version's own form.
  private static func isLiteral(_ octets: ArraySlice<UInt8>) -> Bool {
    if octets.contains(UInt8(ascii: ":")), IPAddress(octets: octets) != nil { return true }
    guard octets.first.map({ $0 | 0x20 }) == UInt8(ascii: "v"),
      let dot = octets.firstIndex(of: UInt8(ascii: "."))
    else { return false }
    let version = octets[..<dot].dropFirst()
    let address = octets[dot...].dropFirst()
    return !version.isEmpty && version.allSatisfy { $0.hexValue != nil } && !address.isEmpty
      && !address.contains { "/?#[]@%".utf8.contains($0) }
  }

  private static func isDigits(_ octets: ArraySlice<UInt8>) -> Bool {
    octets.allSatisfy { (0x30...0x39).contains($0) }
  }
}
