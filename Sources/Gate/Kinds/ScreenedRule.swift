// The rule that has a number checked with Talkdesk's phone validation and do-not-call lists before it is called.

public import Documents

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

/// What is known about a number after its lookup, or without one.
public enum ScreeningAnswer: Sendable {
  case found(ScreeningFinding)
  /// The limit on lookups did not allow one, or could not be counted.
  case uncounted(ChargeOutcome)
  /// The request looks nothing up, and no verdict is saved.
  case unasked
}
