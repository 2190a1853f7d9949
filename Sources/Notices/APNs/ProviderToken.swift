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
/// minutes. The previous token is kept, because APNs may still require it.
final class ProviderTokens: Sendable {
  /// The age of a token at which a new one is signed.
  static let lifetime = Duration.seconds(50 * 60)
  /// The minimum time between two signings, except for a `replacement` at any age and after `forget`.
  static let shortestInterval = Duration.seconds(20 * 60)
  /// The maximum age of a token in use. APNs may refuse an older one by the time it arrives.
  static let oldest = Duration.seconds(58 * 60)

  private struct State {
    var current: ProviderToken?
    var older: ProviderToken?
    /// The time until which the older token is used, because APNs said that the current one came too soon.
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
  /// - Returns: Another token. Without `atAnyAge`, nil if the newest token was signed less than 20 minutes
  ///   ago and is the refused one.
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

  /// The token to use after APNs said that a token came too soon after the previous one.
  /// - Returns: The previous token, which is used for the next 20 minutes. Nil if there is none, if it is the
  ///   refused one, or if it is older than 58 minutes.
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
