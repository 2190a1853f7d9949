// The rule that allows a callback only to a number that is the caller's.

import Documents
import Platform
import Texts

/// Allows a number that a verified claim names, that the subject has proven before, or that a proof in the request is for, in this order:
/// each is only looked at if the ones before it do not suffice.
public struct OwnNumberRule: Sendable {
  /// The claims that say which number is a user's; nil where none does.
  let claim: NumberClaim?
  /// Whether a request may have a proof.
  let takesProofs: Bool

  public init(claim: NumberClaim?, takesProofs: Bool) {
    self.claim = claim
    self.takesProofs = takesProofs
  }

  /// What a request shows without a look at its proof; `proof` if that has to be judged. Nil where the number is not asked about again.
  func result(_ facts: Facts) -> NumberResult? {
    guard let evidence = facts.number, let phone = facts.phone else { return nil }
    if let claim, facts.hasVerifiedClaims, claim.proves(phone, facts.claims) { return .claim }
    if evidence.isRemembered { return .remembered }
    return evidence.hasProof && takesProofs ? .proof : .missing
  }

  /// The refusal of a request.
  func denial(_ facts: Facts, rule: String, cause: String) -> Denial {
    var options: [String] = []
    if claim != nil, facts.hasVerifiedClaims { options.append("claim") }
    if takesProofs { options.append("proof") }
    return Denial(code: .numberNotProven, rule: rule, cause: cause, options: options)
  }

  static let missing = "the request does not show that the number is the caller's"
  static let used = "the proof was used before"

  /// Why the rule has its verdict.
  func reason(_ facts: Facts, _ answer: NumberProofAnswer?) -> String {
    switch result(facts) {
    case .claim: "a claim of the caller's token is the number"
    case .remembered: "the subject has proven the number before"
    case .proof:
      switch answer {
      case .proven: "the request has a proof for the number"
      case .refused(let cause): cause
      case .unjudged, .unavailable, nil: "the proof in the request was not judged"
      }
    case nil: "the number is not checked again"
    default: Self.missing
    }
  }
}

extension Facts {
  /// Whether the claims are those of a token that an issuer has signed for this request. An installation's app describes itself.
  fileprivate var hasVerifiedClaims: Bool {
    !claims.isEmpty && installation == nil && !effectiveCaller.hasSameBytes(as: Self.installationCaller)
  }
}

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
