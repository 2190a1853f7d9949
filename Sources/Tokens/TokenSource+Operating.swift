// Reconfigures a token source, reports its state, and shuts it down.

import Platform
import Synchronization

/// The operations of a token source: reconfigure, report the state, shut down.
extension TokenSource {
  /// The account that tokens belong to now.
  public var upstream: Upstream { state.withLock { Upstream(account: $0.cache.account) } }

  /// The current issuer of tokens, for the server's own requests. Clients get a token only for a grant.
  package var issuer: any TokenIssuer { state.withLock { $0.issuer } }

  /// Applies another configuration.
  ///
  /// - Parameters:
  ///   - issuer: Runs all later exchanges if endpoint or credential changed: a refused credential's cool-down
  ///     ends, and a cached token stays if the new issuer keeps it. Nil if both are the same: cool-downs
  ///     stay, shared tokens stay, and credentials that were set aside are tried again.
  ///   - movesAccount: Whether the new issuer is for another account. Then every cool-down ends, and
  ///     exchanges that have not started are canceled.
  public func reconfigure(issuer: (any TokenIssuer)?, movesAccount: Bool = false, policy: TokenPolicy) {
    let dropped = state.withLock { state -> [Flights.Flight] in
      let old = state.issuer
      guard let issuer else {
        old.tryAllAgain()
        state.cache.reconfigure(policy: policy) { _ in true }
        return []
      }
      issuer.inherit(from: old)
      var dropped: [TokenCache.ExchangeID] = []
      if movesAccount { dropped = state.cache.moveAccount() } else { state.cache.changeCredential() }
      state.cache.reconfigure(policy: policy) { issuer.keeps($0, of: old) }
      state.issuer = issuer
      return dropped.compactMap { state.flights.take($0) }
    }
    for flight in dropped { flight.answer(.failure(.upstreamChanged)) }
  }

  /// Drops the cached tokens, so that the next request starts an exchange. For the sandbox.
  public func forgetTokens() { state.withLock { $0.cache.forgetTokens() } }

  /// Ends every cool-down, and tries credentials again that were set aside. For the sandbox.
  public func endCoolDowns() {
    state.withLock { state in
      state.issuer.tryAllAgain()
      state.cache.endCoolDowns()
    }
  }

  /// The current state of the token source.
  public var status: TokenSourceStatus {
    let now = time.now
    let credentials = state.withLock { $0.issuer }.credentialStatus
    return state.withLock { state in
      TokenSourceStatus(
        scopes: state.cache.entries.indices.map { index in
          let entry = state.cache.entries[index]
          let token = now <= entry.vendableUntil ? entry.token : nil
          let latest = state.latest[index]
          return TokenSourceStatus.Scope(
            scope: entry.scope, expiresIn: token?.remaining(at: now), sha256: token?.sha256,
            isUsed: token != nil && entry.isUsed, renewsIn: token.map { _ in entry.renewAt - now },
            isExchanging: entry.flight != nil, coolDown: state.cache.coolingDown(index, now: now),
            lastRequest: latest, lastRequestAge: latest.map { now - ($0.startedAt + $0.duration) },
            acceptedCredential: state.accepted[index])
        }, credentials: credentials)
    }
  }

  /// Shuts the token source down. Waiting requests get `shutDown`, and so do later requests that find no
  /// token in the cache.
  public func shutdown() {
    let (flights, timers) = state.withLock { state in
      state.isShutDown = true
      defer { state.timers = state.timers.map { _ in nil } }
      return (state.flights.takeAll(), state.timers)
    }
    for timer in timers { timer?.cancel() }
    for flight in flights {
      flight.task?.cancel()
      flight.watchdog?.cancel()
      flight.answer(.failure(.shutDown))
    }
  }
}
