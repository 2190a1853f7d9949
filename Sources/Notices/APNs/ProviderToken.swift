// Decides which provider token APNs gets, and when a new one is signed.

package import JOSE
import JSON
package import Platform
import Synchronization

/// A provider token: a JWT that this server signs for itself.
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
  /// Signs a provider token, and throws it away.
  package func checkSigning(_ time: any TimeSource) throws(OpenSSLError) {
    _ = try ProviderTokens(self, time: time).token()
  }
}

/// The provider tokens of one key.
///
/// APNs refuses tokens older than an hour by their `iat`, which is `JWS.issuedAtMargin` before the signing, and one that comes less than
/// 20 minutes after the one before. So a token serves 50 minutes. The one before it stays at hand for as long as APNs may still want it.
final class ProviderTokens: Sendable {
  /// How long a token serves.
  static let lifetime = Duration.seconds(50 * 60)
  /// Nothing is signed sooner than this after the signing before it.
  static let shortestInterval = Duration.seconds(20 * 60)
  /// A token signed so long ago may be refused by the time it arrives.
  static let oldest = Duration.seconds(58 * 60)

  private struct State {
    var current: ProviderToken?
    var older: ProviderToken?
    /// Until then APNs wants the older one.
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

  /// Forgets all tokens.
  func forget() { state.withLock { $0 = State() } }

  /// APNs says that a token has expired, or refuses it.
  /// - Parameter atAnyAge: Whether to sign another one less than 20 minutes after the one before.
  /// - Returns: another one, or nil if a new one was signed less than 20 minutes ago and has been refused too.
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

  /// APNs says that a token came too soon after the one before.
  /// - Returns: the one before, which serves for the next 20 minutes, or nil if there is none that is young enough.
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
