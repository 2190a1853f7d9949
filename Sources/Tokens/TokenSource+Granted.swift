// The only ways by which a token leaves its source: each needs a grant.

public import Gate
public import HTTP
public import Platform

/// The result of a look without waiting.
public enum Vended<Token>: ~Copyable {
  case token(Token)
  /// There is none at hand; `vend` gets one with the grant.
  case notCached(Grant)
}

extension TokenSource {
  /// The shared token for a client, if it may be vended now. Counts as use of the token, and begins its renewal where that
  /// is due.
  ///
  /// - Parameter lane: for the observer: the loop that asks.
  public func vendAtOnce(
    _ grant: consuming Grant, scope: ScopeID, now: MonotonicTime, lane: Int? = nil
  ) -> Vended<AccessToken> {
    precondition(grant.action == .access, "a token for a client without a grant of access")
    guard let token = cached(scope, now: now, lane: lane) else { return .notCached(grant) }
    return .token(token)
  }

  /// A token for a client: the shared one, or the result of the one exchange that all requests wait for.
  public func vend(
    _ grant: consuming Grant, scope: ScopeID, trace: TraceContext? = nil
  ) async throws(TokenError) -> AccessToken {
    precondition(grant.action == .access, "a token for a client without a grant of access")
    return try await token(scope, trace: trace)
  }

  /// The token that the server makes a granted callback with. The callback keeps its grant: Talkdesk may refuse the first token.
  ///
  /// - Parameters:
  ///   - upstream: where the token has to come from.
  ///   - deadline: when this callback gives up.
  public func token(
    for grant: borrowing Grant, scope: ScopeID, of upstream: Upstream, deadline: MonotonicTime
  ) async throws(TokenError) -> AccessToken {
    precondition(grant.action == .callback, "a callback's token without a grant of a callback")
    return try await token(scope, of: upstream, deadline: deadline)
  }

  /// The same where it can be had without waiting.
  public func tokenAtOnce(
    for grant: borrowing Grant, scope: ScopeID, of upstream: Upstream, now: MonotonicTime
  ) -> AccessToken? {
    precondition(grant.action == .callback, "a callback's token without a grant of a callback")
    return cached(scope, of: upstream, now: now)
  }
}
