// The limits on proofs of numbers: each works once, at whatever instance.

import Documents
import Platform

/// What a proof of a number takes from the allowances: it works once, at whatever instance, and again where the others are given
/// back.
enum NumberProofLimits {
  /// How many used proofs a store has at most. A day's rate of half as many never saves more, since no proof lives longer than a day.
  static let most: Int64 = 1_000_000
  /// Seconds beyond the end of a proof for which its use is stored: the clocks of instances differ.
  static let margin: Int64 = 120

  /// The charges of one proof, for the rule at an index.
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
  /// Whether it counts proofs of numbers: clients are not told of such a count.
  var isOfProofs: Bool { name == Rule.numberProof || name == Rule.numberProofs }
}
