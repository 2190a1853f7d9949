// The only functions that return tokens for clients and calls. Each needs a grant.

public import Gate
public import HTTP
public import Platform

/// The result of a request for a token that does not wait.
public enum Vended<Token>: ~Copyable {
  case token(Token)
  /// No token is cached. Spend the grant on `vend` to get one.
  case notCached(Grant)
}

extension TokenSource {
  /// The shared token for a client, if it may be vended now. Counts as use of the token, and starts its
  /// renewal if that is due.
  ///
  /// - Parameter lane: the event loop of the request, for the observer.
  public func vendAtOnce(
    _ grant: consuming Grant, scope: ScopeID, now: MonotonicTime, lane: Int? = nil
  ) -> Vended<AccessToken> {
    precondition(grant.action == .access, "a token for a client without a grant of access")
    guard let token = cached(scope, now: now, lane: lane) else { return .notCached(grant) }
    return .token(token)
  }

  /// A token for a client: the shared one, or the result of an exchange. All requests that wait share one
  /// exchange, unless tokens are not shared.
  public func vend(
    _ grant: consuming Grant, scope: ScopeID, trace: TraceContext? = nil
  ) async throws(TokenError) -> AccessToken {
    precondition(grant.action == .access, "a token for a client without a grant of access")
    return try await token(scope, trace: trace)
  }

  /// The token with which the server requests a granted callback. The callback keeps its grant, because
  /// Talkdesk may refuse the first token.
  ///
  /// - Parameters:
  ///   - upstream: the account that the token must belong to.
  ///   - deadline: when this callback gives up.
  public func token(
    for grant: borrowing Grant, scope: ScopeID, of upstream: Upstream, deadline: MonotonicTime
  ) async throws(TokenError) -> AccessToken {
    precondition(grant.action == .callback, "a callback's token without a grant of a callback")
    return try await token(scope, of: upstream, deadline: deadline)
  }

  /// The token with which the server requests a granted callback, if it is cached.
  public func tokenAtOnce(
    for grant: borrowing Grant, scope: ScopeID, of upstream: Upstream, now: MonotonicTime
  ) -> AccessToken? {
    precondition(grant.action == .callback, "a callback's token without a grant of a callback")
    return cached(scope, of: upstream, now: now)
  }
}
