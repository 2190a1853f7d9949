// The built-in limit on first requests for an installation, by address.

import Documents
public import Platform

/// How many first requests for an installation an address may make without a user's token: 5 a minute (an IPv6 /64 counts as one
/// address). They make work for operators, and anyone may send them.
public enum EnrolmentLimit {
  private static let rule: AllowanceRule = {
    do throws(Refusal) {
      let rate = try RateLimit(limit: 5, per: 60_000_000_000)
      let rule = Rule(enrolments: .rate(rate, key: .address, onStoreFailure: .deny))
      guard let made = AllowanceRule(rule, index: 0) else { preconditionFailure("a rate counts") }
      return made
    } catch {
      preconditionFailure("the limit is a valid rule: \(error.message)")
    }
  }()

  /// What a first request takes.
  public static func charge(_ address: IPAddress) -> AllowanceCharge {
    AllowanceCharge(rule: rule, party: .address(address.client))
  }

  /// Whether this limit gave a receipt.
  public static func isReceipt(_ receipt: AllowanceReceipt) -> Bool { receipt.rule.name == rule.name }

  /// Why a request is refused whose charge could not be taken.
  public static func denial(_ states: [AllowanceState?], at now: Instant) -> Denial {
    .exhausted(rule, states[0], at: now)
  }
}
