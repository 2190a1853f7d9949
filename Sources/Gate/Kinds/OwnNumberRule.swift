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

  /// The ways to prove the number that a request may use, by their names in problems.
  func ways(_ facts: Facts) -> [String] {
    (claim != nil && facts.hasVerifiedClaims ? ["claim"] : []) + (takesProofs ? ["proof"] : [])
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

/// How a request met a rule `own_number`. The raw value is the word in metrics.
public enum NumberResult: String, CaseIterable, Sendable {
  /// A claim of the caller's token is the number.
  case claim
  case remembered
  case proof
  /// Nothing shows that the number is the caller's.
  case missing
  /// The proof is broken, or of another number or project.
  case refused
  /// The proof was used before.
  case used
  /// The keys that verify proofs cannot be fetched.
  case unavailable
}

/// The result of judging the proof in a request.
public enum NumberProofAnswer: Sendable {
  /// It is good, if nobody has used it: `id` identifies it among all proofs, and it expires at `expires`.
  case proven(id: String, expires: Instant)
  /// It is not good, for this reason, which is for operators.
  case refused(String)
  /// The request only asks whether it would be valid, so no proof is judged.
  case unjudged
  /// It cannot be judged now, which a rule in audit mode puts up with.
  case unavailable
}
