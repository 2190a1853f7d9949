// Verifies the App Check tokens of requests with Google's keys, and remembers verified tokens.

import HTTP
import JOSE
package import Platform
package import Trust

/// Verifies the App Check tokens of one Firebase project.
package final class AppCheckVerifier: Sendable {
  /// The result for one token.
  package enum Outcome {
    case judged(AttestationResult)
    /// The token's key is not known yet. Fetch the keys, then try again.
    case fetchFirst(KeySource)
  }

  private let project: AppCheckProject
  /// Google's keys.
  package let keys: KeySource
  private let verified = VerifiedTokens<AppCheckClaims>()

  package init(_ project: AppCheckProject, keys: KeySource) {
    self.project = project
    self.keys = keys
  }

  /// Verifies a token and checks that it belongs to an app.
  ///
  /// - Parameters:
  ///   - fetched: Whether the keys were already fetched for this token. One token causes at most one fetch.
  ///   - time: The wall clock, for the token's dates.
  package func judge(
    _ token: Span<UInt8>, for terms: AppCheckTerms, fetched: Bool, time: UnixTime, now: MonotonicTime
  ) -> Outcome {
    let seconds = Double(time.seconds) + Double(time.nanoseconds) / 1e9
    let digest = SHA256Digest(of: token)
    let generation = keys.generation
    if let claims = verified.value(digest, generation: { $0.generation == generation }, now: seconds) {
      return .judged(terms.result(of: claims))
    }
    guard token.count <= AppCheckToken.maximumBytes else { return .judged(.failed(.malformed)) }
    var octets: [UInt8] = []
    octets.append(contentsOf: token)
    do throws(AttestationFault) {
      let parsed = try AppCheckToken(parsing: octets)
      switch keys.keys(
        named: parsed.keyID, algorithm: AppCheckToken.algorithm.rawValue, fetched: fetched, now: now)
      {
      case .fetchFirst: return .fetchFirst(keys)
      case .unavailable: return .judged(.unavailable(.keys))
      case .unknown: return .judged(.failed(.unknownKey))
      case .keys(let candidates, let generation):
        let claims = try parsed.verify(with: candidates, of: project, now: seconds)
        verified.remember(
          digest,
          .init(
            value: claims, validUntil: claims.expirationTime, generation: generation, size: octets.count),
          now: seconds)
        return .judged(terms.result(of: claims))
      }
    } catch {
      return .judged(.failed(error))
    }
  }
}
