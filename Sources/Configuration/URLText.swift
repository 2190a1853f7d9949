// Reads and checks the URLs and origins in the configuration. A URL must be `https` unless it leads to this
// machine.

import Documents
import Platform
import Texts

/// URLs that this server calls or compares: `https`, or `http` to this machine alone. No user and no
/// fragment.
///
/// A refused URL is not shown, because it may contain a password.
package enum URLText {
  /// The parts of a URL, without user and fragment.
  struct Parts {
    var scheme: String
    var host: String
    var port: Int?
    /// The path and the query: from the first slash or question mark to the end.
    var rest: String
  }

  /// A complete URL, with or without a query.
  static let complete: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    _ = try read(text)
    return text
  }

  /// A complete URL without a query.
  static let endpoint: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard try !read(text).rest.contains("?") else {
      throw Refusal("has a query", "write the URL up to the question mark")
    }
    return text
  }

  /// A URL to which a path is appended. It has no query, and slashes at its end are dropped.
  static let base: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let parts = try read(text)
    guard !parts.rest.contains("?") else {
      throw Refusal("has a query, and a path is appended to it", "write the URL up to the question mark")
    }
    var result = text
    while result.hasSuffix("/") { result.removeLast() }
    return result
  }

  /// An origin exactly as browsers send it (RFC 6454 §6.1). Schemes besides `https` and `http` are allowed,
  /// because web views inside apps have their own, such as `capacitor://localhost`.
  static let origin: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard text != "*" else {
      throw Refusal("\"*\" would allow the pages of every site", "list each origin: https://shop.example")
    }
    let form = origin(of: try read(text, as: .origin))
    guard text == form else {
      throw Refusal(
        "\(quoted(text)) is not an origin as browsers send it",
        "write scheme, host and port only: \(quoted(form))")
    }
    return text
  }

  /// The origin of a URL, as browsers send it.
  static func origin(of parts: Parts) -> String {
    let implied = ["https": 443, "http": 80][parts.scheme]
    let port = parts.port.flatMap { $0 == implied ? nil : ":\($0)" } ?? ""
    return "\(parts.scheme)://\(parts.host.lowercased())\(port)"
  }

  /// The purpose of a URL.
  enum Use {
    /// The server calls the URL, or compares it with others.
    case address
    /// Browsers send the URL in `Origin`.
    case origin
  }

  /// Parses a URL, or throws what is wrong with it.
  static func read(_ text: String, as use: Use = .address) throws(Refusal) -> Parts {
    let remedy =
      switch use {
      case .address: "write it as https://HOST/PATH"
      case .origin: "write scheme, host and port only: https://shop.example"
      }
    let international = "write a host in Punycode, as xn--mnchen-3ya.example, and percent-encode the rest"
    guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      !text.utf8.contains(where: { #""<>\^`{|}"#.utf8.contains($0) })
    else {
      throw Refusal(
        "is not a URL: it has spaces, has characters that must be percent-encoded, or is too long",
        text.firstMistakable.map { "remove \($0.unseenName)" }
          ?? (text.utf8.contains { $0 > 0x7E } ? international : remedy))
    }
    guard let colon = text.firstRange(of: "://") else { throw Refusal("is not a complete URL", remedy) }
    let scheme = text[..<colon.lowerBound].lowercased()
    switch use {
    case .address:
      guard scheme == "https" || scheme == "http" else { throw Refusal("is neither https nor http", remedy) }
    case .origin: guard isScheme(scheme) else { throw Refusal("has no valid scheme", remedy) }
    }
    let afterScheme = text[colon.upperBound...]
    let end = afterScheme.firstIndex { "/?#".contains($0) } ?? afterScheme.endIndex
    let authority = afterScheme[..<end]
    let rest = String(afterScheme[end...])
    guard !authority.contains("@") else {
      throw Refusal("contains a user name or password", "leave out everything up to the @")
    }
    guard !rest.contains("#") else { throw Refusal("has a fragment", "leave out everything from the # on") }
    guard let (host, port) = hostAndPort(authority) else {
      throw Refusal("has no valid host and port", remedy)
    }
    guard scheme != "http" || isThisMachine(host) || (use == .origin && isBelowLocalhost(host)) else {
      throw Refusal(
        "is plain http to another machine", "use https; http is allowed for a loopback address only")
    }
    return Parts(scheme: scheme, host: host, port: port, rest: rest)
  }

  private static func hostAndPort(_ authority: Substring) -> (host: String, port: Int?)? {
    var host = authority
    var port: Int?
    let afterBrackets = authority.lastIndex(of: "]") ?? authority.startIndex
    if let colon = authority[afterBrackets...].lastIndex(of: ":") {
      guard let number = Digits.read(authority[authority.index(after: colon)...], in: 1...65535) else {
        return nil
      }
      port = number
      host = authority[..<colon]
    }
    if host.hasPrefix("[") {
      let inner = host.dropFirst().dropLast()
      guard host.hasSuffix("]"), inner.contains(":"), IPAddress(String(inner)) != nil else { return nil }
      return (String(host), port)
    }
    return IPAddress.isHostName(Array(host.utf8)[...]) ? (String(host), port) : nil
  }

  /// Whether a text is a scheme in lower case (RFC 3986 §3.1).
  private static func isScheme(_ text: String) -> Bool {
    guard let first = text.utf8.first, (0x61...0x7A).contains(first) else { return false }
    return text.utf8.allSatisfy { octet in
      switch octet {
      case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
      default: false
      }
    }
  }

  /// Whether browsers resolve a name to this machine (RFC 6761 §6.3), such as `tauri.localhost`. The server's
  /// own resolver may not.
  private static func isBelowLocalhost(_ host: String) -> Bool { host.lowercased().hasSuffix(".localhost") }

  private static func isThisMachine(_ host: String) -> Bool {
    if host.lowercased() == "localhost" { return true }
    let inner = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    return IPAddress(inner)?.isLoopback ?? false
  }
}
