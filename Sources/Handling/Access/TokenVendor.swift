// The sources of tokens for granted requests: Talkdesk ID, or a chat desk's sessions.

import API
import Callers
import ChatDesk
import Gate
import HTTP
import HTTPServer
import JOSE
import Platform
import Records
import Responses
import Serving
import Store
import Tokens

/// The source of the token for one granted request.
protocol TokenVendor: Sendable {
  associatedtype Token: Sendable
  /// Whether a cached token may be vended now.
  func holdsToken(now: MonotonicTime, lane: Int) -> Bool
  /// The token, if it is available without a wait.
  func vendAtOnce(_ grant: consuming Grant, now: MonotonicTime, lane: Int) -> Vended<Token>
  /// Gets the token, in one request upstream for all that wait for it.
  func vend(_ grant: consuming Grant, for vending: Vending, _ audit: AuditLog) async throws(TokenError)
    -> Token
  /// Checks whether `vend` would return a token.
  /// - Returns: Whether this needed a request upstream.
  func probe(for vending: Vending, _ audit: AuditLog) async throws(TokenError) -> Bool
  /// The token's fingerprint for the audit line.
  func fingerprint(_ token: Token) -> String
  /// The response with the token.
  func response(
    _ token: Token, as form: AccessForm, _ prepared: PreparedTokens, now: MonotonicTime, lane: Int
  ) -> PreparedResponse
}

/// The source of the account's tokens with a scope.
struct AccountTokens: TokenVendor {
  let source: TokenSource
  let scope: TokenSource.ScopeID

  func holdsToken(now: MonotonicTime, lane: Int) -> Bool { source.holdsToken(scope, now: now, lane: lane) }
  func vendAtOnce(_ grant: consuming Grant, now: MonotonicTime, lane: Int) -> Vended<AccessToken> {
    source.vendAtOnce(grant, scope: scope, now: now, lane: lane)
  }
  func vend(
    _ grant: consuming Grant, for vending: Vending, _ audit: AuditLog
  ) async throws(TokenError) -> AccessToken {
    try await source.vend(grant, scope: scope, trace: vending.record.trace)
  }
  func probe(for vending: Vending, _ audit: AuditLog) async throws(TokenError) -> Bool {
    try await source.probe(scope, lane: vending.lane, trace: vending.record.trace)
  }
  func fingerprint(_ token: AccessToken) -> String { token.sha256 }
  func response(
    _ token: AccessToken, as form: AccessForm, _ prepared: PreparedTokens, now: MonotonicTime, lane: Int
  ) -> PreparedResponse {
    if case .text = form { return prepared.response(for: token, loop: lane) }
    return PreparedResponse(form.response(token, expiresIn: token.wholeSecondsLeft(at: now)))
  }
}

/// The source of session tokens for one user of a chat desk.
struct UserSessions: TokenVendor {
  let user: DeskUser
  let source: SessionSource

  /// Nil if the request has no app, or its app has no chat desk.
  init?(_ caller: Caller, _ app: App?, _ generation: Generation) {
    guard let name = app?.desk, let desk = generation.desks[name] else { return nil }
    let owner = caller.owner
    user = desk.userIDs.user(owner.subject, of: owner.callerID, requestedAs: caller.subject)
    source = desk.source
  }

  func holdsToken(now: MonotonicTime, lane: Int) -> Bool { source.holdsToken(user, now: now, lane: lane) }
  func vendAtOnce(_ grant: consuming Grant, now: MonotonicTime, lane: Int) -> Vended<SessionToken> {
    source.vendAtOnce(grant, user: user, now: now, lane: lane)
  }
  func vend(
    _ grant: consuming Grant, for vending: Vending, _ audit: AuditLog
  ) async throws(TokenError) -> SessionToken {
    try await source.vend(grant, user: user, trace: vending.record.trace, if: intends(vending, audit))
  }
  func probe(for vending: Vending, _ audit: AuditLog) async throws(TokenError) -> Bool {
    try await source.probe(
      user, lane: vending.lane, trace: vending.record.trace, if: intends(vending, audit))
  }
  /// In strict mode, the server calls Sendbird, which may create the user, only after an intent is on the
  /// disk. Talkdesk ID needs no intent, because its token belongs to the account and not to a request.
  private func intends(_ vending: Vending, _ audit: AuditLog) -> SessionSource.Permission {
    guard let trail = audit.trail else { return { true } }
    let intent = AuditIntent(vending.record)
    return { await trail.intends(intent) }
  }
  func fingerprint(_ token: SessionToken) -> String { token.sha256 }
  func response(
    _ token: SessionToken, as form: AccessForm, _ prepared: PreparedTokens, now: MonotonicTime, lane: Int
  ) -> PreparedResponse {
    if case .text = form { return prepared.response(for: token, loop: lane) }
    let left = max(0, (token.expiresAt - now).components.seconds)
    return PreparedResponse(form.response(token.secret, of: token.user.text, expiresIn: left))
  }
}
