// Checks the links in a callback's context, which agents may click: absolute `http` and `https` URLs only.

import HTTP
import Platform

/// Values that an agent may click on: absolute `http` and `https` URLs (RFC 9110 §4.2) and nothing else, so no script,
/// no file and no local scheme. They are never fetched here.
package enum WebURL {
  /// What is wrong with a text as such a URL; nil where nothing is.
  static func fault(in text: String) -> String? {
    let octets = Array(text.utf8)
    guard octets.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }) else {
      return "Percent-encode spaces, backslashes, quotes, brackets and everything that is not ASCII."
    }
    guard hasSoundEscapes(octets) else {
      return "Follow each % with two hexadecimal digits, and encode no control character."
    }
    let length: Int
    if octets[...].starts(withLowercase: "https://") {
      length = 8
    } else if octets[...].starts(withLowercase: "http://") {
      length = 7
    } else {
      return "Give an absolute URL that begins with https:// or http://."
    }
    let authority = octets.dropFirst(length).prefix { !"/?#".utf8.contains($0) }
    guard !authority.contains(UInt8(ascii: "@")) else {
      return "Leave out the user name and password before the @."
    }
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

  private static func isHostAndPort(_ authority: ArraySlice<UInt8>) -> Bool {
    let colon = UInt8(ascii: ":")
    if authority.first == UInt8(ascii: "[") {
      guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return false }
      let address = authority[..<end].dropFirst()
      guard address.contains(colon), IPAddress(octets: address) != nil else { return false }
      let rest = authority[end...].dropFirst()
      return rest.isEmpty || (rest.first == colon && isPort(rest.dropFirst()))
    }
    guard let end = authority.firstIndex(of: colon) else { return isName(authority) }
    return isPort(authority[end...].dropFirst()) && isName(authority[..<end])
  }

  /// A number without zeros in front.
  private static func isPort(_ octets: ArraySlice<UInt8>) -> Bool {
    octets.first != UInt8(ascii: "0") && octets.decimal(digits: 5).map { $0 <= 65_535 } == true
  }

  /// Labels of letters, digits, hyphens and underscores (RFC 1123 §2.1). Where the last begins with a digit it is an IPv4
  /// address, and then a proper one: `2130706433` and `0x7f.1` are nobody's honest spelling.
  private static func isName(_ host: ArraySlice<UInt8>) -> Bool {
    let dot = UInt8(ascii: ".")
    let name = host.last == dot ? host.dropLast() : host
    let labels = name.split(separator: dot, omittingEmptySubsequences: false)
    guard (1...253).contains(name.count), let last = labels.last else { return false }
    let isValid = labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
        && label.allSatisfy { octet in
          switch octet {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
          default: false
          }
        }
    }
    guard isValid else { return false }
    return last.first.map { (0x30...0x39).contains($0) } != true || IPAddress(octets: name) != nil
  }
}
