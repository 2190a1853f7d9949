// The built-in limit on proofs of keys: each is good once, at whatever instance.

import Documents

/// What a request with a proof (DPoP, RFC 9449) takes from the allowances.
public enum ProofLimits {
  /// How long the id of a proof is stored, in seconds: longer than a proof is valid at any instance. It is so for a minute before and
  /// after its time, and the clocks of instances differ by seconds.
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

  /// The one use of a proof.
  ///
  /// - Parameter id: Identifies the proof among those of all keys, as a digest in hex.
  public static func charge(proof id: String) -> AllowanceCharge {
    AllowanceCharge(rule: rule, party: .caller(id))
  }
}
