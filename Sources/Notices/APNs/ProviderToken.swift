// Decides which provider token is sent to APNs, and when a new one is signed.

package import JOSE
import JSON
package import Platform
import Synchronization

/// A provider token: a JWT with which this server authenticates to APNs.
final class ProviderToken: Sendable {
  /// The value of `authorization`.
  let bearer: Secret
  let signedAt: MonotonicTime

  init(bearer: Secret, signedAt: MonotonicTime) {
    self.bearer = bearer
    self.signedAt = signedAt
  }
}

extension APNsSettings {
  /// Signs a provider token and discards it, to check the key.
  package func checkSigning(_ time: any TimeSource) throws(OpenSSLError) {
    _ = try ProviderTokens(self, time: time).token()
  }
}

/// The provider tokens of one key.
///
/// APNs refuses a token whose `iat` is more than an hour old, and a token that comes less than 20 minutes
/// after the previous one. `iat` is `JWS.issuedAtMargin` before the signing. So each token is used for 50
/// minutes. The previous token is kept for as long as APNs may still want it.
final class ProviderTokens: Sendable {
  /// How long a token is used.
  static let lifetime = Duration.seconds(50 * 60)
  /// The least time between two signings, except for a `replacement` at any age.
  static let shortestInterval = Duration.seconds(20 * 60)
  /// The greatest age of a token in use. APNs may refuse an older one by the time it arrives.
  static let oldest = Duration.seconds(58 * 60)

  private struct State {
    var current: ProviderToken?
    var older: ProviderToken?
    /// Until when APNs wants the older token.
    var prefersOlderUntil: Expiry?
  }

  private let settings: APNsSettings
  private let time: any TimeSource
  private let state = Mutex(State())

  init(_ settings: APNsSettings, time: any TimeSource) {
    self.settings = settings
    self.time = time
  }

  /// The token to use now.
  func token() throws(OpenSSLError) -> ProviderToken {
    let now = time.now
    return try state.withLock { state throws(OpenSSLError) in
      if let older = state.older, let until = state.prefersOlderUntil, now < until,
        now.age(since: older.signedAt) < Self.oldest
      {
        return older
      }
      if let current = state.current, now.age(since: current.signedAt) < Self.lifetime { return current }
      return try sign(&state, now)
    }
  }

  /// Drops all tokens.
  func forget() { state.withLock { $0 = State() } }

  /// The token to use after APNs refused one, or said that it has expired.
  /// - Parameter atAnyAge: Whether to sign another token even within 20 minutes of the previous one.
  /// - Returns: another token; nil if the refused one is the newest and was signed less than 20 minutes ago.
  func replacement(of expired: ProviderToken, atAnyAge: Bool) throws(OpenSSLError) -> ProviderToken? {
    let now = time.now
    return try state.withLock { state throws(OpenSSLError) in
      state.prefersOlderUntil = nil
      guard let current = state.current else { return try sign(&state, now) }
      if current !== expired, now.age(since: current.signedAt) < Self.lifetime { return current }
      guard atAnyAge || now.age(since: current.signedAt) >= Self.shortestInterval else { return nil }
      return try sign(&state, now)
    }
  }

  /// The token to use after APNs said that one came too soon after the previous one.
  /// - Returns: the previous token, which is used for the next 20 minutes; nil if none is young enough.
  func fallback(from early: ProviderToken) -> ProviderToken? {
    let now = time.now
    return state.withLock { state in
      guard let older = state.older, older !== early, now.age(since: older.signedAt) < Self.oldest else {
        return nil
      }
      state.prefersOlderUntil = Expiry(now + Self.shortestInterval)
      return older
    }
  }

  private func sign(_ state: inout State, _ now: MonotonicTime) throws(OpenSSLError) -> ProviderToken {
    let claims: JSONObject = [
      "iss": .string(settings.teamID),
      "iat": .number(JSONNumber(time.unixTime.advanced(bySeconds: -JWS.issuedAtMargin).seconds)),
    ]
    let text = try JWS.sign(
      header: ["alg": "ES256", "kid": .string(settings.keyID)], payload: claims.serialized(),
      with: settings.signer)
    let token = ProviderToken(bearer: Secret("bearer " + text), signedAt: now)
    state.older = state.current
    state.current = token
    return token
  }
}
