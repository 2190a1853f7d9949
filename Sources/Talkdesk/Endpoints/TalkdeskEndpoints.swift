// Derives the URLs of Talkdesk ID and of the API from account and region, and checks URLs that are configured.

import HTTP

/// Where a Talkdesk account's tokens and API are: from account and region, or as stated.
public struct TalkdeskEndpoints: Hashable, Sendable {
  /// The token endpoint's full URL.
  public let tokenURL: String
  /// What an assertion names as its audience: one string, equal to the token URL unless stated otherwise.
  public let audience: String
  /// The base of the API, without a slash at the end; a path such as `/calls/callback` is appended.
  public let apiBase: String

  /// Why no endpoints could be made.
  public enum Problem: Error, Hashable, Sendable {
    /// Neither an account nor a token URL is given.
    case missingAccount
    /// The account is not one DNS label: 1–63 letters, digits and inner hyphens.
    case invalidAccount(String)
    /// A URL is not absolute `https` (or `http` to loopback) with a host and nothing after the path.
    case invalidURL(String)
    /// The audience is stated but empty.
    case emptyAudience
  }

  /// Makes endpoints. Every stated value replaces what account and region would give.
  ///
  /// - Parameters:
  ///   - account: the account's name, the first label of its Talkdesk address; not needed where `tokenURL` is stated.
  ///   - region: the account's region.
  ///   - tokenURL: the whole token URL.
  ///   - audience: what assertions name as audience.
  ///   - apiBase: the API's base; slashes at its end are dropped.
  public init(
    account: String? = nil, region: Region = .us, tokenURL: String? = nil, audience: String? = nil,
    apiBase: String? = nil
  ) throws(Problem) {
    if let tokenURL {
      self.tokenURL = try Self.checked(tokenURL)
    } else {
      guard let account, !account.isEmpty else { throw .missingAccount }
      let label = try Self.label(account)
      self.tokenURL = "https://\(label).\(region.idDomain)/oauth/token"
    }
    if let audience {
      guard !audience.isEmpty else { throw .emptyAudience }
      self.audience = audience
    } else {
      self.audience = self.tokenURL
    }
    var base = try Self.checked(apiBase ?? region.apiBase)
    while base.hasSuffix("/") { base.removeLast() }
    self.apiBase = base
  }

  /// The URL of an API path, which begins with a slash.
  public func api(_ path: String) -> String { apiBase + path }

  private static func label(_ account: String) throws(Problem) -> String {
    let octets = account.utf8.map(\.lowercasedASCII)
    let fits = octets.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    guard fits, octets.count <= 63, octets.first != 0x2D, octets.last != 0x2D else {
      throw .invalidAccount(account)
    }
    return String(decoding: octets, as: UTF8.self)
  }

  /// Clear text is for this machine alone: a token or assertion on a network in the clear is a lost credential.
  private static func checked(_ url: String) throws(Problem) -> String {
    guard let mark = url.utf8.firstRange(of: "://".utf8) else { throw .invalidURL(url) }
    let scheme = url[..<mark.lowerBound].lowercased()
    let rest = url[mark.upperBound...]
    let authority = rest.prefix { $0 != "/" }
    // No query, no fragment, no backslash that some readers take for a slash, no user information.
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !rest.contains(where: { "?#\\".contains($0) }),
      !authority.isEmpty, !authority.contains("@")
    else { throw .invalidURL(url) }
    let (host, port) = split(authority)
    guard !host.isEmpty, port.map(isPort) ?? true else { throw .invalidURL(url) }
    switch scheme {
    case "https": return url
    case "http" where isLoopback(host): return url
    default: throw .invalidURL(url)
    }
  }

  private static func split(_ authority: Substring) -> (host: Substring, port: Substring?) {
    if authority.first == "[" {
      guard let close = authority.firstIndex(of: "]") else { return ("", nil) }
      let after = authority[authority.index(after: close)...]
      guard after.isEmpty || after.first == ":" else { return ("", nil) }
      return (authority[...close], after.isEmpty ? nil : after.dropFirst())
    }
    guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
    return (authority[..<colon], authority[authority.index(after: colon)...])
  }

  private static func isPort(_ text: Substring) -> Bool {
    let digits = text.utf8.allSatisfy { (0x30...0x39).contains($0) } && (1...5).contains(text.utf8.count)
    return digits && (UInt32(text) ?? 0) <= 65_535 && (UInt32(text) ?? 0) > 0
  }

  private static func isLoopback(_ host: Substring) -> Bool {
    if host.lowercased() == "localhost" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    let octets = parts.compactMap { part in
      (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
        ? UInt8(part) : nil
    }
    return parts.count == 4 && octets.count == 4 && octets[0] == 127
  }
}

extension TalkdeskEndpoints.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .missingAccount: "neither an account nor a token URL is set"
    case .invalidAccount(let name):
      "\"\(name)\" is not an account name: write one label of letters, digits and hyphens"
    case .invalidURL: "not an absolute https URL (http is for loopback only) without user, query and fragment"
    case .emptyAudience: "the audience is empty"
    }
  }
}
