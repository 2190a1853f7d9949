// The built-in limits by address: on first requests for an installation, challenges, proofs, tokens that Google decodes, and ids of
// notices that are not known.

import Documents
public import Platform

/// How often an address may do something in a minute, or in an hour (an IPv6 /64 counts as one address).
public struct AddressLimit: Sendable {
  /// First requests for an installation without a user's token: 5. They make work for operators, and anyone may send them.
  public static let enrolments = AddressLimit(Rule.enrolments, .enrol, limit: 5)
  /// Requests with an id of a notice that is not known: 60.
  public static let unknownNotices = AddressLimit(Rule.unknownNotices, .access, limit: 60)
  /// Challenges for attestations: 300. Each may cost the verification of an attestation.
  public static let challenges = AddressLimit(Rule.challenges, .enrol, limit: 300)

  /// Proofs of keys that belong to no installation yet: 300. Each is a row of the store for three minutes.
  public static let proofs = AddressLimit(Rule.proofs, .enrol, limit: 300)
  /// Tokens of Play Integrity that Google decodes: 60 in an hour, of the 10,000 that Google decodes in a day.
  public static let decodings = AddressLimit(Rule.decodings, .enrol, limit: 60, minutes: 60)

  private let rule: AllowanceRule

  private init(_ name: String, _ action: Action, limit: Int64, minutes: Int64 = 1) {
    do throws(Refusal) {
      let rate = try RateLimit(limit: limit, per: minutes * 60_000_000_000)
      let rule = Rule(builtIn: name, action, .rate(rate, key: .address, onStoreFailure: .deny))
      guard let made = AllowanceRule(rule, index: 0) else { preconditionFailure("a rate counts") }
      self.rule = made
    } catch {
      preconditionFailure("the limit is a valid rule: \(error.message)")
    }
  }

  /// What one such request takes.
  public func charge(_ address: IPAddress) -> AllowanceCharge {
    AllowanceCharge(rule: rule, party: .address(address.client))
  }

  /// Whether this limit gave a receipt.
  public func isReceipt(_ receipt: AllowanceReceipt) -> Bool { receipt.rule.name == rule.name }

  /// Why a request is refused whose charge could not be taken.
  public func denial(_ states: [AllowanceState?], at now: Instant) -> Denial {
    .exhausted(rule, states[0], at: now)
  }
}
