// The built-in limits on number proofs: each proof works once, and all proofs together have a rate limit of
// 500,000 a day.

import Documents
import Platform

/// The charges for a number proof. If the request's other charges are given back, so are these, and the proof
/// works again.
enum NumberProofLimits {
  /// The maximum number of used proofs in a store. No proof is valid for more than a day, so half as many per
  /// day is a safe limit.
  static let most: Int64 = 1_000_000
  /// The time for which a proof stays marked as used after it expires, in seconds, because the clocks of
  /// instances differ.
  static let margin: Int64 = 120

  /// The charges of one proof. `index` is the index of the rule `own_number`.
  static func charges(
    _ id: String, expires: Instant, at now: Instant, index: Int, isEnforced: Bool
  ) -> [AllowanceCharge] {
    let left = expires.advanced(by: .seconds(margin)).nanosecondsSinceEpoch
      .subtractingClamped(now.nanosecondsSinceEpoch)
    return [
      charge(
        Rule.numberProof, .caller(id), limit: 1, per: max(left, margin * 1_000_000_000), index, isEnforced),
      charge(Rule.numberProofs, .global, limit: most / 2, per: 86_400_000_000_000, index, isEnforced),
    ]
  }

  private static func charge(
    _ name: String, _ party: AllowanceParty, limit: Int64, per: Int64, _ index: Int, _ isEnforced: Bool
  ) -> AllowanceCharge {
    do throws(Refusal) {
      let rule = AllowanceRule(
        name: name, plan: .rate(try RateLimit(limit: limit, per: per)), scope: .caller,
        isEnforced: isEnforced, onStoreFailure: .deny, index: index, brake: nil)
      return AllowanceCharge(rule: rule, party: party)
    } catch {
      preconditionFailure("the life of a proof is a valid span: \(error.message)")
    }
  }
}

extension AllowanceRule {
  /// Whether the rule counts number proofs. Responses to clients do not show these limits.
  var isOfProofs: Bool { name == Rule.numberProof || name == Rule.numberProofs }
}
