// The rule that has a number checked with Talkdesk's phone validation and do-not-call lists before it is called.

public import Documents
import Platform

/// Asks for the verdict on a number, which is known or costs a lookup at Talkdesk. So it is asked after all other rules and allowances.
public struct ScreenedRule: Sendable {
  /// How long all lookups of a request may take together, in milliseconds.
  public let timeoutMilliseconds: Int64
  /// The decision without a verdict.
  public let onFailure: FailurePolicy

  /// A rule. Throws for a timeout outside of a millisecond to 30 seconds.
  public init(timeoutMilliseconds: Int64 = 3000, onFailure: FailurePolicy = .allow) throws(Refusal) {
    guard (1...30_000).contains(timeoutMilliseconds) else {
      throw Refusal(at: "timeout", "the timeout is out of range", "give \"1ms\" to \"30s\"")
    }
    self.timeoutMilliseconds = timeoutMilliseconds
    self.onFailure = onFailure
  }

  /// Why the rule has its verdict.
  func reason(_ answer: ScreeningAnswer?) -> String {
    switch answer {
    case .allowed: "the check found nothing against the number"
    case .refused(let setting): Self.refusal(by: setting)
    case .failed(let cause): "\(cause); on_failure is \(onFailure.rawValue)"
    case .uncounted: "the limit on lookups is reached"
    case .unasked, nil: Self.unasked
    }
  }

  static func refusal(by setting: String) -> String { "numbers.screening.\(setting) refuses the number" }

  static let unasked = "no verdict on the number is saved, and this request looks nothing up"
}

/// What is known about a number after its lookup, or without one.
public enum ScreeningAnswer: Sendable {
  case allowed
  /// A setting of `numbers.screening` refuses it.
  case refused(setting: String)
  /// There is no verdict, for this reason, which is for operators.
  case failed(String)
  /// The limit on lookups did not allow one, or could not be counted.
  case uncounted(ChargeOutcome)
  /// The request looks nothing up, and no verdict is saved.
  case unasked
}

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
}

extension Denial {
  /// The rule that callers are told. A blocked or screened number looks like any other that is not called.
  public var publicRule: String? { code == .numberNotAllowed && cause != nil ? Rule.defaultNumbers : rule }
}
