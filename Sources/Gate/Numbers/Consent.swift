// The rule that requires a customer's consent to be called, and consents as requests give them and records save them.

public import Documents
import Platform
public import Texts

/// A consent as a request gives it: the name of the text that the customer saw, and when the customer agreed.
public struct GivenConsent: Hashable, Sendable {
  @Exact public private(set) var text: String
  public let at: Instant

  public init(text: String, at: Instant) {
    self.text = text
    self.at = at
  }
}

/// A text that customers agree to.
public struct ConsentText: Hashable, Sendable {
  /// Its name in requests, such as `v3`.
  @Exact public private(set) var name: String
  /// The SHA-256 of its words, 64 hex digits in lower case.
  public let digest: String

  public init(name: String, digest: String) {
    self.name = name
    self.digest = digest
  }
}

/// Why a consent does not suffice.
public enum ConsentFault: String, Sendable {
  /// The request has none.
  case missing = "the request has no consent"
  case unknownText = "the consent is to another text"
  case outOfTime = "the consent is older than 24 hours, or of the future"

  /// The fault of a consent; nil for a good one.
  ///
  /// - Parameters:
  ///   - texts: The names of the texts that suffice.
  ///   - now: `at` may be 24 hours before it and 10 minutes after it.
  public init?(_ consent: GivenConsent?, texts: [String], at now: Instant) {
    guard let consent else {
      self = .missing
      return
    }
    guard texts.contains(exactly: consent.text) else {
      self = .unknownText
      return
    }
    let earliest = now.advanced(by: .seconds(-86_400))
    guard consent.at < earliest || consent.at > now.advanced(by: .seconds(600)) else { return nil }
    self = .outOfTime
  }
}

/// The consent of a record: lasting evidence is the audit line, which has the same.
public struct StoredConsent: Hashable, Sendable {
  @Exact public private(set) var text: String
  public let at: Instant
  /// The first 16 digits of the text's digest.
  public let digest: String

  public init(_ consent: GivenConsent, to text: ConsentText) {
    self.text = text.name
    at = consent.at
    digest = String(text.digest.prefix(16))
  }

  /// Its form in a column.
  package var stored: String { "\(at.seconds) \(digest) \(text)" }

  /// Reads a result of `stored`; nil for anything else.
  package init?(stored: String) {
    let parts = stored.utf8
      .split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard parts.count == 3, let seconds = Int64(parts[0]) else { return nil }
    text = parts[2]
    at = Instant(seconds: seconds)
    digest = parts[1]
  }
}

/// Requires a consent to one of some texts.
public struct ConsentRule: Sendable {
  /// The names of the texts.
  public let texts: [String]

  /// Throws when there are none.
  public init(texts: [String]) throws(Refusal) {
    guard !texts.isEmpty else {
      throw Refusal(
        at: "texts", "the list is empty, so the rule would deny everyone",
        "name texts of numbers.consent.texts, or leave \"texts\" out for all of them")
    }
    self.texts = texts
  }

  /// What is wrong; nil if nothing is, or the number is not asked about again.
  func fault(_ facts: Facts) -> ConsentFault? {
    facts.number.flatMap { ConsentFault($0.consent, texts: texts, at: facts.instant) }
  }

  func denial(_ fault: ConsentFault, rule: String) -> Denial {
    Denial(code: .consentRequired, rule: rule, cause: fault.rawValue, options: texts)
  }

  /// Why the rule has its verdict.
  func reason(_ facts: Facts) -> String {
    guard let evidence = facts.number else { return "the consent is not checked again" }
    if let fault = fault(facts) { return "\(fault.rawValue); \(listed(texts)) is required" }
    return "the customer agreed to \(quoted(evidence.consent?.text ?? ""))"
  }
}

/// What a configuration says of numbers, for the rules about them.
public struct NumberTerms: Sendable {
  public var claim: NumberClaim?
  public var takesProofs: Bool
  public var consentTexts: [ConsentText]

  public init(claim: NumberClaim? = nil, takesProofs: Bool = false, consentTexts: [ConsentText] = []) {
    self.claim = claim
    self.takesProofs = takesProofs
    self.consentTexts = consentTexts
  }
}
