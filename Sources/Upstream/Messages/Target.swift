// Parses and checks the URL of an outgoing request.

import Platform

/// The target of a request: a URL that was parsed and checked before any other use.
///
/// Only what this project needs is accepted: `https` to any host, `http` to this machine, no user
/// information, no fragment, ASCII only. The URL for libcurl is built from these parts again, so libcurl
/// cannot read it differently.
struct Target: Hashable {
  /// Whether the connection is protected by TLS.
  let secure: Bool
  /// The name in lower case, or the address without brackets.
  let host: String
  /// The form of the host.
  let kind: HostKind
  /// The port; the default port of the scheme if the URL has none.
  let port: UInt16
  /// The path, at least `/`.
  let path: String
  /// The query with its question mark; empty without a query.
  let query: String

  /// The form of a host.
  enum HostKind: Hashable { case name, ipv4, ipv6 }

  /// The reason why a URL is refused.
  struct Refusal: Error, Equatable {
    let detail: String
    init(_ detail: String) { self.detail = detail }
  }

  /// The maximum length of a URL, in octets.
  static let maximumLength = 8192

  /// Parses a URL (RFC 3986 §3), and refuses every form that the type's description does not allow.
  init(_ url: String) throws(Refusal) {
    let bytes = Array(url.utf8)
    guard bytes.count <= Self.maximumLength else { throw Refusal("the URL is too long") }
    guard bytes.allSatisfy(Self.isAllowed) else { throw Refusal("the URL has an octet that must be escaped") }

    let scheme: String
    guard let mark = bytes.firstRange(of: Array("://".utf8)) else { throw Refusal("the URL has no scheme") }
    scheme = Self.text(bytes[..<mark.lowerBound]).lowercased()
    switch scheme {
    case "https": secure = true
    case "http": secure = false
    default: throw Refusal("the URL's scheme is neither https nor http")
    }

    let rest = bytes[mark.upperBound...]
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    let authority = rest[..<end]
    guard !authority.contains(UInt8(ascii: "@")) else { throw Refusal("the URL has user information") }
    let (hostBytes, portBytes) = try Self.split(authority)
    (host, kind) = try Self.host(hostBytes)
    port = try Self.port(portBytes) ?? (secure ? 443 : 80)

    let tail = rest[end...]
    let questionMark = tail.firstIndex(of: UInt8(ascii: "?")) ?? tail.endIndex
    let pathBytes = tail[..<questionMark]
    path = pathBytes.isEmpty ? "/" : Self.text(pathBytes)
    query = Self.text(tail[questionMark...])

    guard secure || isLoopback else { throw Refusal("plain http is for loopback addresses only") }
  }

  /// Whether the host is this machine: `localhost`, 127.0.0.0/8 or ::1. Names are not resolved for this.
  var isLoopback: Bool { kind == .name ? host == "localhost" : IPAddress(host)?.isLoopback ?? false }

  /// Scheme, host and port, which identify connections (RFC 6454).
  var origin: String { "\(secure ? "https" : "http")://\(bracketedHost):\(port)" }

  /// The whole URL in its normal form.
  var url: String {
    let port = self.port == (secure ? 443 : 80) ? "" : ":\(self.port)"
    return "\(secure ? "https" : "http")://\(bracketedHost)\(port)\(path)\(query)"
  }

  private var bracketedHost: String { kind == .ipv6 ? "[\(host)]" : host }

  /// Whether a byte may be unescaped in a URL (RFC 3986 §2), without the fragment's `#`.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._~:/?[]@!$&'()*+,;=%".utf8.contains(byte)
    }
  }

  private static func split(
    _ authority: ArraySlice<UInt8>
  ) throws(Refusal) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
    if authority.first == UInt8(ascii: "[") {
      guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else {
        throw Refusal("the URL's address has no closing bracket")
      }
      let after = authority[(close + 1)...]
      guard after.isEmpty || after.first == UInt8(ascii: ":") else {
        throw Refusal("the URL's host is malformed")
      }
      return (authority[...close], after.isEmpty ? nil : after.dropFirst())
    }
    guard let colon = authority.firstIndex(of: UInt8(ascii: ":")) else { return (authority, nil) }
    return (authority[..<colon], authority[(colon + 1)...])
  }

  private static func host(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> (String, HostKind) {
    if bytes.first == UInt8(ascii: "[") {
      let inner = text(bytes.dropFirst().dropLast())
      guard inner.contains(":"), let address = IPAddress(inner) else {
        throw Refusal("the URL's IPv6 address is malformed")
      }
      return (address.description, address.version == .v6 ? .ipv6 : .ipv4)
    }
    var name = text(bytes).lowercased()
    if name.hasSuffix(".") { name.removeLast() }  // A final dot, for the DNS root, changes nothing.
    if let address = IPAddress(name), !name.contains(":") { return (address.description, .ipv4) }
    guard IPAddress.isHostName(Array(name.utf8)[...]) else { throw Refusal("the URL's host is malformed") }
    return (name, .name)
  }

  private static func port(_ bytes: ArraySlice<UInt8>?) throws(Refusal) -> UInt16? {
    guard let bytes else { return nil }
    let digits = bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard digits, (1...5).contains(bytes.count), let port = UInt16(text(bytes)), port > 0 else {
      throw Refusal("the URL's port is malformed")
    }
    return port
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
