// Normalizes URLs, so that the URL in a DPoP proof can be compared with the request's.

/// A URL without query and fragment, normalized so that equal URLs have equal octets: by case (RFC 3986
/// §6.2.2.1), percent-encoding (§6.2.2.2), and port and path of the scheme (§6.2.3). Dot segments stay,
/// because no endpoint's path has any.
public struct ComparableURL: Hashable, Sendable {
  private let octets: [UInt8]

  /// Nil if the text is not an `http` or `https` URL, or has a user, a query or a fragment.
  public init?(_ text: String) {
    let text = Array(text.utf8)
    guard text.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}?#"#.utf8.contains($0) }) else {
      return nil
    }
    for (scheme, port) in [("https", "443"), ("http", "80")] {
      let prefix = Array(scheme.utf8) + Array("://".utf8)
      guard text.count > prefix.count, text[..<prefix.count].map(Self.lowercased) == prefix else { continue }
      let rest = text[prefix.count...]
      let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
      guard let authority = Self.authority(rest[..<end], without: Array(port.utf8)),
        let path = Self.path(rest[end...])
      else { return nil }
      octets = prefix + authority + (path.isEmpty ? [UInt8(ascii: "/")] : path)
      return
    }
    return nil
  }

  private static func lowercased(_ octet: UInt8) -> UInt8 {
    (0x41...0x5A).contains(octet) ? octet | 0x20 : octet
  }

  /// The host and port; nil without a host, with a user, or with a malformed port. The scheme's own port is
  /// dropped.
  private static func authority(_ octets: ArraySlice<UInt8>, without port: [UInt8]) -> [UInt8]? {
    guard !octets.contains(UInt8(ascii: "@")) else { return nil }
    var host = octets
    var end: [UInt8] = []
    // A colon inside the brackets of an IPv6 address does not end the host.
    if let colon = octets.lastIndex(of: UInt8(ascii: ":")), !octets[colon...].contains(UInt8(ascii: "]")) {
      host = octets[..<colon]
      let digits = Array(octets[(colon + 1)...])
      guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      if !digits.isEmpty, digits != port { end = [UInt8(ascii: ":")] + digits }
    }
    return host.isEmpty ? nil : host.map(lowercased) + end
  }

  /// The path, with escapes in capital letters and unreserved characters unescaped. Nil if a percent sign is
  /// not followed by two hexadecimal digits.
  private static func path(_ octets: ArraySlice<UInt8>) -> [UInt8]? {
    var path: [UInt8] = []
    path.reserveCapacity(octets.count)
    var index = octets.startIndex
    while index < octets.endIndex {
      guard octets[index] == UInt8(ascii: "%") else {
        path.append(octets[index])
        index += 1
        continue
      }
      guard index + 2 < octets.endIndex, let high = digit(octets[index + 1]),
        let low = digit(octets[index + 2])
      else { return nil }
      let octet = high << 4 | low
      if isUnreserved(octet) {
        path.append(octet)
      } else {
        let digits = Array("0123456789ABCDEF".utf8)
        path += [UInt8(ascii: "%"), digits[Int(high)], digits[Int(low)]]
      }
      index += 3
    }
    return path
  }

  private static func digit(_ octet: UInt8) -> UInt8? {
    switch octet {
    case 0x30...0x39: octet - 0x30
    case 0x41...0x46, 0x61...0x66: (octet | 0x20) - 0x61 + 10
    default: nil
    }
  }

  /// Whether an octet is unreserved (RFC 3986 §2.3).
  private static func isUnreserved(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._~".utf8.contains(octet)
    }
  }
}
