// The rule for remote policies: builds the query and reads the response. Other code sends it over HTTP.

public import Documents
import Platform

/// A remote policy: a service that decides about requests over HTTP.
public struct RemoteRule: Sendable {
  /// The form of queries and responses.
  public enum Dialect: String, CaseIterable, Sendable {
    /// Open Policy Agent's data API.
    case opa
    /// OpenID AuthZEN Authorization API 1.0, access evaluation.
    case authzen
  }

  /// The URL to which the server sends queries by `POST`.
  public let url: String
  /// The maximum time to wait for a response, in milliseconds.
  public let timeoutMilliseconds: Int64
  /// The decision if the policy gives no usable response.
  public let onFailure: FailurePolicy
  /// The form of the policy's queries and responses.
  public let dialect: Dialect

  /// Creates a rule. Throws if the URL is neither `https` nor `http` to this machine, or if the timeout is
  /// not 1 ms to 30 s.
  public init(
    url: String, timeoutMilliseconds: Int64 = 500, onFailure: FailurePolicy = .deny, dialect: Dialect = .opa
  ) throws(Refusal) {
    // The error never shows the URL, because the URL may contain a password.
    guard let scheme = Self.scheme(of: url) else {
      throw Refusal(
        at: "url", "it is not a URL, or has a user name, a fragment or an impossible port",
        "write a complete URL, such as \"https://policy.example/v1/data/callgate/allow\"")
    }
    guard scheme.isSecure || scheme.isLoopback else {
      throw Refusal(
        at: "url", "plain http goes over the network unprotected",
        "use https; http is for an address on this machine only, such as http://127.0.0.1:8181")
    }
    guard (1...30_000).contains(timeoutMilliseconds) else {
      throw Refusal(at: "timeout", "the timeout is out of range", "give \"1ms\" to \"30s\"")
    }
    self.url = url
    self.timeoutMilliseconds = timeoutMilliseconds
    self.onFailure = onFailure
    self.dialect = dialect
  }

  /// The query about a request, as the document to send.
  public func query(about facts: Facts) -> FactValue {
    switch dialect {
    case .opa: .object([FactMember("input", facts.document)])
    case .authzen:
      .object([
        FactMember("subject", Self.entity("user", facts.effectiveSubject)),
        FactMember("action", .object([FactMember("name", .string(facts.action.rawValue))])),
        FactMember("resource", Self.entity(facts.action.rawValue, facts.appID ?? "-")),
        FactMember("context", facts.document),
      ])
    }
  }

  /// Reads a response in the rule's dialect.
  public func answer(reading document: FactValue) -> RemoteAnswer {
    switch dialect {
    case .opa: RemoteAnswer(reading: document)
    case .authzen: RemoteAnswer(readingEvaluation: document)
    }
  }

  private static func entity(_ type: String, _ id: String) -> FactValue {
    .object([FactMember("type", .string(type)), FactMember("id", .string(id))])
  }

  /// Whether a URL is `https`, and whether its host is this machine. Nil if the URL is not a valid `http` or
  /// `https` URL.
  private static func scheme(of url: String) -> (isSecure: Bool, isLoopback: Bool)? {
    let isSecure = url.utf8.starts(with: "https://".utf8)
    guard isSecure || url.utf8.starts(with: "http://".utf8), url.utf8.count <= 2048,
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    let authority = url.dropFirst(isSecure ? 8 : 7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    // A user name before the host makes it look like another host.
    guard !authority.isEmpty, !authority.contains("@"), !url.contains("#") else { return nil }
    var host = authority
    var port: Substring = ""
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<end]
      guard IPAddress(String(host))?.isV4 == false else { return nil }
      port = authority[authority.index(after: end)...]
      guard port.isEmpty || port.first == ":" else { return nil }
    } else if let colon = authority.firstIndex(of: ":") {
      host = authority[..<colon]
      port = authority[colon...]
    }
    let number = port.dropFirst()
    guard !host.isEmpty, port.isEmpty || (1...5).contains(number.utf8.count),
      number.utf8.allSatisfy(\.isASCIIDigit), (1...65_535).contains(Int(number) ?? 1)
    else { return nil }
    let name = String(host)
    if let address = IPAddress(name) { return (isSecure, address.isLoopback) }
    return isName(name) ? (isSecure, name == "localhost") : nil
  }

  /// Whether a host is a name: letters, digits, hyphens (RFC 1123 §2.1) and underscores between dots. The
  /// last label must not begin with a digit, because `0x7f.1` and `2130706433` are disguised addresses.
  private static func isName(_ host: String) -> Bool {
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard host.utf8.count <= 253, let last = labels.last, last.first?.isASCIIDigit == false else {
      return false
    }
    return labels.allSatisfy { label in
      (1...63).contains(label.count)
        && label.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2D || $0 == 0x5F }
    }
  }
}

/// A query to a remote policy.
public struct RemoteQuery: Sendable {
  /// The name of the rule.
  public let rule: String
  /// The remote policy's URL, timeout and dialect.
  public let remote: RemoteRule
  /// Whether the rule can refuse the request. In audit mode, its denial is only recorded.
  public let isEnforced: Bool
  /// The document to send.
  public let document: FactValue

  init(rule: String, isEnforced: Bool, remote: RemoteRule, facts: Facts) {
    self.rule = rule
    self.isEnforced = isEnforced
    self.remote = remote
    document = remote.query(about: facts)
  }
}
