// The rule that checks a number with Talkdesk's phone validation and do-not-call lists before a call.

public import Documents

/// Requires a favorable verdict on a phone number. The verdict may need a lookup at Talkdesk, so the server
/// evaluates this rule after all other rules and allowances.
public struct ScreenedRule: Sendable {
  /// The time limit for all lookups of a request together.
  public let timeoutMilliseconds: Int64
  /// The decision if the lookup fails.
  public let onFailure: FailurePolicy

  /// Creates a rule. Throws if the timeout is not 1 ms to 30 s.
  public init(timeoutMilliseconds: Int64 = 3000, onFailure: FailurePolicy = .allow) throws(Refusal) {
    guard (1...30_000).contains(timeoutMilliseconds) else {
      throw Refusal(at: "timeout", "the timeout is out of range", "give \"1ms\" to \"30s\"")
    }
    self.timeoutMilliseconds = timeoutMilliseconds
    self.onFailure = onFailure
  }

  func reason(_ answer: ScreeningAnswer?) -> String {
    switch answer {
    case .found(.allowed): "the check found nothing against the number"
    case .found(.refused(let setting)): Self.refusal(by: setting)
    case .found(.failed(let cause)): "\(cause); on_failure is \(onFailure.rawValue)"
    case .uncounted: "the limit on lookups is reached"
    case .unasked, nil: Self.unasked
    }
  }

  static func refusal(by setting: String) -> String { "numbers.screening.\(setting) refuses the number" }

  static let unasked = "no verdict on the number is saved, and this request looks nothing up"
}

/// The result of checking a number, with or without a lookup.
public enum ScreeningAnswer: Sendable {
  case found(ScreeningFinding)
  /// The limit on lookups was reached, or the store could not count.
  case uncounted(ChargeOutcome)
  /// There is no valid saved verdict, or the store cannot be read, and this request must not make a lookup.
  case unasked
}
