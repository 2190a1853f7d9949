// Marks a DPoP proof as used in the allowances, which all instances share.

package import Callers
import Deciding
import Gate
import JOSE
package import Platform
import Store
package import Trust

extension Generation {
  /// Uses up a proof, so that it cannot be replayed.
  ///
  /// - Parameter time: The wall clock.
  package func spend(_ proof: VerifiedProof, at time: UnixTime) async -> ProofSpending {
    let charge = ProofLimits.charge(proof: Hex.encode(proof.id.bytes))
    switch await decider.ledger.take([charge], at: Instant(time)).outcome {
    case .taken: return .spent
    case .refused: return .replayed
    case .unavailable: return .unavailable
    }
  }
}
