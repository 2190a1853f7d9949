// Records each used DPoP proof as an allowance in the store, so that no instance accepts it again.

package import Callers
import Deciding
import Gate
import JOSE
package import Platform
import Store
package import Trust

extension Generation {
  /// Records a proof as used, so that it cannot be replayed.
  ///
  /// - Parameter time: The current time of the wall clock.
  package func spend(_ proof: VerifiedProof, at time: UnixTime) async -> ProofSpending {
    let charge = ProofLimits.charge(proof: Hex.encode(proof.id.bytes))
    switch await decider.ledger.take([charge], at: Instant(time)).outcome {
    case .taken: return .spent
    case .refused: return .replayed
    case .unavailable: return .unavailable
    }
  }
}
