// The denials of the rules about numbers, and the verdict on a number that a policy asks for.

/// Asks for the verdict on a number.
public struct ScreeningQuery: Sendable {
  /// The number.
  public let phone: E164
  /// How long the answer may take.
  public let timeout: Duration
  /// What a lookup takes; nil where the limit on lookups is off.
  public let charge: AllowanceCharge?
}

extension Policy {
  /// Asks for the verdict that rules need about a request; nil where none of them concerns it.
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

  /// The denial of a proof that was used before, or that cannot be remembered as used.
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
  /// The denial of a number that an operator has blocked.
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

  /// The rule that callers are told. A blocked or screened number looks like any other that is not called.
  public var publicRule: String? { code == .numberNotAllowed && cause != nil ? Rule.defaultNumbers : rule }
}
