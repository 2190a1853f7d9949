// The built-in limits per client address: on first requests for an installation, challenges, DPoP proofs,
// Play Integrity tokens that Google decodes, and unknown push notification ids.

import Documents
public import Platform

/// A limit on the requests of one address per minute or per hour. An IPv6 /64 counts as one address.
public struct AddressLimit: Sendable {
  /// First requests for an installation that neither a user's token nor an attestation authorizes: 5 a
  /// minute. They make work for operators, and anyone may send them.
  public static let enrolments = AddressLimit(Rule.enrolments, .enrol, limit: 5)
  /// Requests with an unknown push notification id: 60 a minute.
  public static let unknownNotices = AddressLimit(Rule.unknownNotices, .access, limit: 60)
  /// Challenges for attestations: 300 a minute. Each may cost the verification of an attestation.
  public static let challenges = AddressLimit(Rule.challenges, .enrol, limit: 300)

  /// DPoP proofs of keys that belong to no installation yet: 300 a minute. Each proof occupies a row of the
  /// store for three minutes.
  public static let proofs = AddressLimit(Rule.proofs, .enrol, limit: 300)
  /// Play Integrity tokens that Google decodes: 60 an hour. For all addresses together, Google decodes 10,000
  /// a day.
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

  /// The charge for one request from an address.
  public func charge(_ address: IPAddress) -> AllowanceCharge {
    AllowanceCharge(rule: rule, party: .address(address.client))
  }

  /// Whether a receipt belongs to this limit.
  public func isReceipt(_ receipt: AllowanceReceipt) -> Bool { receipt.rule.name == rule.name }

  /// The denial of a request whose charge the store refused.
  public func denial(_ states: [AllowanceState?], at now: Instant) -> Denial {
    .exhausted(rule, states[0], at: now)
  }
}
