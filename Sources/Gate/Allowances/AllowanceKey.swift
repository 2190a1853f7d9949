// Identifies one allowance: the rule that counts, and the caller, user or number that it counts for.

public import Platform
import Texts

/// The setting `key` of a rate or quota: the kind of party that has its own count.
public enum AllowanceScope: String, CaseIterable, Sendable {
  case caller, subject, installation, app, address, phone, global
}

/// The party that an allowance belongs to, such as one caller or one phone number.
public enum AllowanceParty: Sendable {
  case caller(String)
  /// The id of the caller to whom the subject belongs (`Facts.owner`), followed by NUL and the subject if
  /// there is a user. No id contains NUL. Subjects are unique only per issuer (RFC 7519 §4.1.2), and some
  /// issuers let users choose them.
  case subject(String)
  /// An installation's id.
  case installation(String)
  case app(String)
  /// A client: an IPv4 address, or the /64 of an IPv6 address.
  case address(IPAddress)
  case phone(E164)
  /// Everyone together.
  case global
  /// All requests that lack what the rule counts by: requests without an app, address or number.
  case unknown
}

extension AllowanceParty: Hashable {
  /// Names are compared by their octets.
  public static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.caller(let a), .caller(let b)), (.subject(let a), .subject(let b)),
      (.installation(let a), .installation(let b)), (.app(let a), .app(let b)):
      a.hasSameBytes(as: b)
    case (.address(let a), .address(let b)): a == b
    case (.phone(let a), .phone(let b)): a == b
    case (.global, .global), (.unknown, .unknown): true
    case (.caller, _), (.subject, _), (.installation, _), (.app, _), (.address, _), (.phone, _), (.global, _),
      (.unknown, _):
      false
    }
  }
}

/// The identity of one allowance: the name of a rule and a party. A reload does not change the name, so the
/// counts survive it.
public struct AllowanceKey: Hashable, Sendable {
  /// The rule's name.
  public let rule: String
  /// The party that the allowance belongs to.
  public let party: AllowanceParty

  public init(rule: String, party: AllowanceParty) {
    self.rule = rule
    self.party = party
  }

  /// The party as text for a store, distinct for distinct parties. Never log this text: it may contain a
  /// whole phone number.
  public var partyText: String {
    switch party {
    case .caller(let id): "caller:\(id)"
    case .subject(let id): "subject:\(id)"
    case .installation(let id): "installation:\(id)"
    case .app(let id): "app:\(id)"
    case .address(let address): "address:\(address)"
    case .phone(let number): "phone:\(number.text)"
    case .global: "global"
    case .unknown: "unknown"
    }
  }
}

extension AllowanceParty {
  /// Reads a result of `AllowanceKey.partyText`; nil for anything else.
  init?(text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      switch text {
      case "global": self = .global
      case "unknown": self = .unknown
      default: return nil
      }
      return
    }
    let id = String(text[text.index(after: colon)...])
    switch AllowanceScope(rawValue: String(text[..<colon])) {
    case .caller: self = .caller(id)
    case .subject: self = .subject(id)
    case .installation: self = .installation(id)
    case .app: self = .app(id)
    case .address:
      guard let address = IPAddress(id) else { return nil }
      self = .address(address)
    case .phone:
      do throws(E164Error) { self = .phone(try E164(id)) } catch { return nil }
    case .global, nil: return nil
    }
  }
}

extension AllowanceScope {
  /// The party that a request is counted for. Without an installation, `installation` counts like `subject`.
  func party(of facts: Facts) -> AllowanceParty {
    switch self {
    case .caller: .caller(facts.effectiveCaller)
    case .installation:
      facts.installation.map { .installation($0.id) } ?? Self.subject.party(of: facts)
    case .subject:
      .subject(
        facts.isOwnerItself ? facts.owner : facts.owner + "\u{0}" + facts.effectiveSubject)
    case .app: facts.appID.map { .app($0) } ?? .unknown
    case .address: facts.address.map { .address($0.client) } ?? .unknown
    case .phone: facts.phone.map { .phone($0) } ?? .unknown
    case .global: .global
    }
  }
}
