// Builds the query for Talkdesk's verdict on a phone number, and the denials of the rules about numbers.

/// A query for Talkdesk's verdict on a phone number.
public struct ScreeningQuery: Sendable {
  public let phone: E164
  /// The time limit for the answer.
  public let timeout: Duration
  /// The charge for a lookup. Nil if lookups have no limit.
  public let charge: AllowanceCharge?
}

extension Policy {
  /// The query that the rules need for a request. Nil if no rule `screened` applies, if there is no number,
  /// or if the number was already checked.
  func screening(of facts: Facts, _ scope: RequestScope) -> ScreeningQuery? {
    guard let phone = facts.phone, facts.number != nil else { return nil }
    let timeouts = screened.compactMap { index -> Int64? in
      guard case .screened(let rule) = entries[index].question, Self.applies(entries[index], scope) else {
        return nil
      }
      return rule.value.timeoutMilliseconds
    }
    guard let timeout = timeouts.max() else { return nil }
    return ScreeningQuery(
      phone: phone, timeout: .milliseconds(timeout),
      charge: lookups.map { AllowanceCharge(rule: $0, party: .global) })
  }

  /// The denial for a proof that was used before, or because too many proofs were used in the last 24 hours.
  func denial(_ charged: AllowanceRule, _ facts: Facts) -> Denial {
    let entry = entries[charged.index]
    guard charged.name == Rule.numberProof, case .ownNumber(let rule) = entry.question else {
      return Denial(
        code: .overloaded, rule: entry.name, retryAfter: Denial.storeRetryAfter,
        cause: "too many proofs were used in the last 24 hours")
    }
    return .numberNotProven(rule.value, facts, rule: entry.name, cause: OwnNumberRule.used)
  }
}

extension Denial {
  /// The denial for a number that an operator has blocked.
  public static let blocked = Denial(
    code: .numberNotAllowed, rule: Rule.blocked, cause: "an operator blocked this number")

  static func numberNotProven(_ rule: OwnNumberRule, _ facts: Facts, rule name: String, cause: String)
    -> Denial
  {
    Denial(code: .numberNotProven, rule: name, cause: cause, options: rule.ways(facts))
  }

  static func consentRequired(_ fault: ConsentFault, _ rule: ConsentRule, rule name: String) -> Denial {
    Denial(code: .consentRequired, rule: name, cause: fault.rawValue, options: rule.texts)
  }

  /// The rule that responses name. A number that is blocked or that a rule `screened` refused looks like a
  /// number in the built-in ranges, so that callers cannot find out which numbers are blocked.
  public var publicRule: String? { code == .numberNotAllowed && cause != nil ? Rule.defaultNumbers : rule }
}
