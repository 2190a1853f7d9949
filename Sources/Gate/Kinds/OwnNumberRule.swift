// The rule that allows a callback only to the caller's own number.

import Documents
import Platform
import Texts

/// Allows a number if a verified claim contains it, if the subject has proven it before, or if the request
/// contains a proof for it. The rule checks in this order and stops at the first match.
public struct OwnNumberRule: Sendable {
  /// The claims with a user's number. Nil if no claim counts.
  let claim: NumberClaim?
  /// Whether a request may contain a proof.
  let takesProofs: Bool

  public init(claim: NumberClaim?, takesProofs: Bool) {
    self.claim = claim
    self.takesProofs = takesProofs
  }

  /// The result before any proof is verified: `.proof` if the proof must be verified. Nil if there is no
  /// number, or if the number was already checked.
  func result(_ facts: Facts) -> NumberResult? {
    guard let evidence = facts.number, let phone = facts.phone else { return nil }
    if let claim, facts.hasVerifiedClaims, claim.proves(phone, facts.claims) { return .claim }
    if evidence.isRemembered { return .remembered }
    return evidence.hasProof && takesProofs ? .proof : .missing
  }

  /// The ways to prove the number, by their names in error responses.
  func ways(_ facts: Facts) -> [String] {
    (claim != nil && facts.hasVerifiedClaims ? ["claim"] : []) + (takesProofs ? ["proof"] : [])
  }

  static let missing = "the request does not show that the number is the caller's"
  static let used = "the proof was used before"

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
  /// Whether the claims come from a token that an issuer signed. An installation's claims do not: its app
  /// supplies them, unverified.
  fileprivate var hasVerifiedClaims: Bool {
    !claims.isEmpty && installation == nil && !effectiveCaller.hasSameBytes(as: Self.installationCaller)
  }
}

/// The result of a rule `own_number`. The raw value is the label in metrics.
public enum NumberResult: String, CaseIterable, Sendable {
  /// A claim of the caller's token is the number.
  case claim
  case remembered
  case proof
  /// Nothing shows that the number is the caller's.
  case missing
  /// The proof is invalid, or for another number or project.
  case refused
  /// The proof was used before.
  case used
  /// The server cannot fetch the keys that verify proofs.
  case unavailable
}

/// The result of verifying the proof in a request.
public enum NumberProofAnswer: Sendable {
  /// The proof is valid, unless it was used before. `id` identifies it among all proofs.
  case proven(id: String, expires: Instant)
  /// The proof is invalid. The reason is for operators.
  case refused(String)
  /// The proof was not verified, because the request is only evaluated and not carried out. The rule allows
  /// the request.
  case unjudged
  /// The server cannot verify the proof now. Only for a rule in audit mode, which is then skipped.
  case unavailable
}
