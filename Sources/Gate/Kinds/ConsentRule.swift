// The rule that requires a customer's consent to be called.

public import Documents
import Platform
import Texts

/// Requires a consent to one of the named texts.
public struct ConsentRule: Sendable {
  /// The names of the accepted texts.
  public let texts: [String]

  /// Creates a rule. Throws if the list is empty.
  public init(texts: [String]) throws(Refusal) {
    guard !texts.isEmpty else {
      throw Refusal(
        at: "texts", "the list is empty, so the rule would deny everyone",
        "name texts of numbers.consent.texts, or leave \"texts\" out for all of them")
    }
    self.texts = texts
  }

  /// The fault of the consent. Nil if the rule allows the request, or if the number was already checked.
  func fault(_ facts: Facts) -> ConsentFault? {
    facts.number.flatMap { ConsentFault($0.consent, texts: texts, at: facts.instant) }
  }

  func reason(_ facts: Facts) -> String {
    guard let evidence = facts.number else { return "the consent is not checked again" }
    if let fault = fault(facts) { return "\(fault.rawValue); \(listed(texts)) is required" }
    return "the customer agreed to \(quoted(evidence.consent?.text ?? ""))"
  }
}

/// The reasons for which a consent is not accepted.
public enum ConsentFault: String, Sendable {
  case missing = "the request has no consent"
  case unknownText = "the consent is to another text"
  case outOfTime = "the consent is older than 24 hours, or of the future"

  /// Checks a consent; nil if the consent is accepted.
  ///
  /// - Parameters:
  ///   - texts: The names of the accepted texts.
  ///   - now: The current time. The consent may be up to 24 hours older, and up to 10 minutes newer.
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
