// Checks the links in a callback's context, which agents may click: absolute `http` and `https` URLs only.

import HTTP
import Platform

/// Values that an agent may click on: absolute `http` and `https` URLs (RFC 9110 §4.2) and nothing else, so no script,
/// no file and no local scheme. They are never fetched here.
package enum WebURL {
  /// The mistake in such a URL; nil without one.
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
      guard index + 2 < octets.count, let high = octets[index + 1].hexValue,
        let low = octets[index + 2].hexValue
      else { return false }
      let value = high << 4 | low
      guard value >= 0x20, value != 0x7F else { return false }
    }
    return true
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

  private static func isName(_ host: ArraySlice<UInt8>) -> Bool {
    IPAddress.isHostName(host.last == UInt8(ascii: ".") ? host.dropLast() : host)
  }
}
