// Reads the address and credential of a proxy.

import HTTP

/// One proxy server: its kind, address and credential.
struct Proxy: Hashable {
  /// The protocol of a proxy.
  enum Kind: String {
    /// A CONNECT tunnel (RFC 9110 §9.3.6), requested without TLS.
    case http
    /// A CONNECT tunnel, requested over TLS.
    case https
    case socks4
    case socks4a
    case socks5
    case socks5h

    /// libcurl's default port, for a setting without one.
    var defaultPort: UInt16 { self == .https ? 443 : 1080 }
    /// Whether the target's name is resolved here, not by the proxy.
    var resolvesLocally: Bool { self == .socks4 || self == .socks5 }
  }

  let kind: Kind
  /// The name in lower case, or the address without brackets.
  let host: String
  /// Whether the host is an IPv6 address.
  let isIPv6: Bool
  let port: UInt16
  let user: String?
  let password: String?

  /// Reads `[scheme://][user[:password]@]host[:port][/]`; nil for anything else. Both parts of the credential
  /// may be percent-encoded.
  init?(_ text: String) {
    var rest = Substring(text)
    if let mark = text.firstRange(of: "://") {
      let scheme = text[..<mark.lowerBound].lowercased()
      guard let known = scheme == "socks" ? .socks4 : Kind(rawValue: scheme) else { return nil }
      kind = known
      rest = text[mark.upperBound...]
    } else {
      kind = .http
    }
    if let at = rest.lastIndex(of: "@") {
      let credential = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = credential.first.flatMap(Self.decoded) else { return nil }
      user = name
      if credential.count == 2 {
        guard let secret = Self.decoded(credential[1]) else { return nil }
        password = secret
      } else {
        password = nil
      }
      rest = rest[rest.index(after: at)...]
    } else {
      user = nil
      password = nil
    }
    // `Target` checks the proxy's address, too. With https, it accepts any host.
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    guard !rest.contains("/"), !rest.contains("?"), let place = try? Target("https://\(rest)") else {
      return nil  // The reason is dropped because it speaks of a URL; the caller names the variable's form.
    }
    host = place.host
    isIPv6 = place.kind == .ipv6
    port = Self.hasPort(rest) ? place.port : kind.defaultPort
  }

  /// The address in libcurl's form, without the credential.
  var url: String { "\(kind.rawValue)://\(isIPv6 ? "[\(host)]" : host):\(port)" }

  private static func hasPort(_ authority: Substring) -> Bool {
    let afterAddress = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
    return afterAddress.contains(":")
  }

  /// Undoes percent-encoding; nil for a broken escape, for invalid UTF-8 and for control characters.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
      bytes.append(high << 4 | low)
    }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
