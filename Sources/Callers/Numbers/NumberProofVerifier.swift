// Verifies the proofs of phone numbers in requests (Firebase Phone Number Verification).

package import Gate
import JOSE
package import Platform
package import Trust

/// Verifies proofs for one Firebase project.
package final class NumberProofVerifier: Sendable {
  private let project: AppCheckProject
  package let keys: KeySource

  package init(_ project: AppCheckProject, keys: KeySource) {
    self.project = project
    self.keys = keys
  }

  /// Verifies a proof for a number. Fetches the keys if the proof names an unknown one.
  ///
  /// - Returns: The answer for the rules. Nil if the server cannot fetch the keys.
  package func judge(_ proof: String, for number: E164, clock: any TimeSource) async -> NumberProofAnswer? {
    do throws(NumberProofFault) {
      let parsed = try NumberProof(parsing: Array(proof.utf8))
      for fetched in [false, true] {
        switch keys.keys(
          named: parsed.keyID, algorithm: NumberProof.algorithm.rawValue, fetched: fetched, now: clock.now)
        {
        case .fetchFirst: await keys.fetchForUnknownKey()
        case .unavailable: return nil
        case .unknown: throw .unknownKey
        case .keys(let candidates, _):
          let time = clock.unixTime
          let expires = try parsed.verify(
            with: candidates, of: project, number: number.text,
            now: Double(time.seconds) + Double(time.nanoseconds) / 1e9)
          return .proven(
            id: Hex.encode(parsed.id.bytes),
            expires: Instant(seconds: Int64(exactly: expires.rounded(.up)) ?? .max))
        }
      }
      throw .unknownKey
    } catch {
      return .refused(error.rawValue)
    }
  }
}
