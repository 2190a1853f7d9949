internal import Platform

/// Values that an agent may click on: absolute `http` and `https` URLs (RFC 9110 §4.2) and nothing else, so no script,
/// no file and no local scheme. They are never fetched here.
enum WebURL {
  /// What is wrong with a text as such a URL; nil where nothing is.
  static func fault(in text: String) -> String? {
    let octets = Array(text.utf8)
    guard octets.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }) else {
      return "Percent-encode spaces, backslashes, quotes, brackets and everything that is not ASCII."
    }
    guard hasSoundEscapes(octets) else {
      return "Follow each % with two hexadecimal digits, and encode no control character."
    }
    let lower = text.lowercased()
    guard let scheme = ["https://", "http://"].first(where: lower.hasPrefix) else {
      return "Give an absolute URL that begins with https:// or http://."
    }
    let authority = text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    guard !authority.contains("@") else { return "Leave out the user name and password before the @." }
    guard isHostAndPort(authority) else { return "Give a host, and a port only as a number, after the //." }
    return nil
  }

  private static func hasSoundEscapes(_ octets: [UInt8]) -> Bool {
    for (index, octet) in octets.enumerated() where octet == UInt8(ascii: "%") {
      guard index + 2 < octets.count, let high = digit(octets[index + 1]), let low = digit(octets[index + 2])
      else { return false }
      let value = high << 4 | low
      guard value >= 0x20, value != 0x7F else { return false }
    }
    return true
  }

  private static func digit(_ octet: UInt8) -> UInt8? {
    switch octet {
    case 0x30...0x39: octet - 0x30
    case 0x41...0x46: octet - 0x37
    case 0x61...0x66: octet - 0x57
    default: nil
    }
  }

  private static func isHostAndPort(_ authority: Substring) -> Bool {
    var host = authority
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else { return false }
      let address = String(authority[authority.index(after: authority.startIndex)..<end])
      guard address.contains(":"), IPAddress(address) != nil else { return false }
      host = authority[end...].dropFirst()
      return host.isEmpty || (host.first == ":" && isPort(host.dropFirst()))
    }
    if let colon = authority.firstIndex(of: ":") {
      guard isPort(authority[colon...].dropFirst()) else { return false }
      host = authority[..<colon]
    }
    return isName(host)
  }

  private static func isPort(_ text: Substring) -> Bool { Digits.read(text, in: 1...65_535) != nil }

  /// Labels of letters, digits, hyphens and underscores (RFC 1123 §2.1). Where the last begins with a digit it is an IPv4
  /// address, and then a proper one: `2130706433` and `0x7f.1` are nobody's honest spelling.
  private static func isName(_ host: Substring) -> Bool {
    let name = host.hasSuffix(".") ? host.dropLast() : host
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...253).contains(name.utf8.count), let last = labels.last else { return false }
    let isValid = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
        && label.utf8.allSatisfy { octet in
          switch octet {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
          default: false
          }
        }
    }
    guard isValid else { return false }
    return last.first.map { ("0"..."9").contains($0) } != true || IPAddress(String(name)) != nil
  }
}
