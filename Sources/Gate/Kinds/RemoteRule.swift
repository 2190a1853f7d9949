// The rule that asks a policy service over HTTP: its question and how an answer is judged, without the network.

public import Documents
import Platform

/// A policy service that is asked over HTTP.
public struct RemoteRule: Sendable {
  /// The form of queries and answers.
  public enum Dialect: String, CaseIterable, Sendable {
    /// Open Policy Agent's data API.
    case opa
    /// OpenID AuthZEN Authorization API 1.0, access evaluation.
    case authzen
  }

  /// Where to `POST` the question.
  public let url: String
  /// How long to wait, in milliseconds.
  public let timeoutMilliseconds: Int64
  /// The decision without a usable answer.
  public let onFailure: FailurePolicy
  /// How it is asked.
  public let dialect: Dialect

  /// A rule. Throws for an address that is not `https`, or `http` to this machine, and for a time-out outside
  /// of a millisecond to 30 seconds.
  public init(
    url: String, timeoutMilliseconds: Int64 = 500, onFailure: FailurePolicy = .deny, dialect: Dialect = .opa
  ) throws(Refusal) {
    // A refused address is not shown: it may hold a password.
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

  /// The document that asks about these facts.
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

  /// Reads an answer in the rule's dialect.
  public func answer(reading document: FactValue) -> RemoteAnswer {
    switch dialect {
    case .opa: RemoteAnswer(reading: document)
    case .authzen: RemoteAnswer(readingEvaluation: document)
    }
  }

  private static func entity(_ type: String, _ id: String) -> FactValue {
    .object([FactMember("type", .string(type)), FactMember("id", .string(id))])
  }

  /// Takes the beginning of an address apart; nil when it is no http or https one.
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

  /// Letters, digits and hyphens between dots (RFC 1123 §2.1). The last label is not a number: `0x7f.1` and `2130706433` are disguised
  /// addresses.
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

/// A question for a remote policy.
public struct RemoteQuery: Sendable {
  /// The rule that asks.
  public let rule: String
  /// Where, and for how long.
  public let remote: RemoteRule
  /// Whether the rule refuses; in audit mode it only says so.
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
