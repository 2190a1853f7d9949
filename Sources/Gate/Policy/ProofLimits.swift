// The built-in limit on DPoP proofs: each proof works once, whichever instance receives it.

import Documents

/// The charge for a request with a DPoP proof (RFC 9449).
public enum ProofLimits {
  /// The time for which the id of a proof is stored, in seconds. This is longer than any instance accepts the
  /// proof: it is valid for a minute before and after its time, and the clocks of instances differ by
  /// seconds.
  static let proofLife: Int64 = 180

  private static let rule: AllowanceRule = {
    do throws(Refusal) {
      let kind = Rule.Kind.rate(
        try RateLimit(limit: 1, per: proofLife * 1_000_000_000), key: .caller, onStoreFailure: .deny)
      guard let rule = AllowanceRule(Rule(builtIn: Rule.proof, .access, kind), index: 0) else {
        preconditionFailure("it counts")
      }
      return rule
    } catch {
      preconditionFailure("the limit is a valid rule: \(error.message)")
    }
  }()

  /// The charge for the single use of a proof.
  ///
  /// - Parameter id: Identifies the proof among those of all keys, as a digest in hex.
  public static func charge(proof id: String) -> AllowanceCharge {
    AllowanceCharge(rule: rule, party: .caller(id))
  }
}
