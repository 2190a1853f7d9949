// Supplies access tokens: one shared token per scope, renewed before it expires.

public import HTTP
public import Platform
import Synchronization

/// A source of tokens: one shared token per scope, renewed early, with at most one exchange per scope at a
/// time. With `share: false` in the policy, each request for a token gets its own exchange.
///
/// `TokenCache` makes the decisions. This class has the lock around the cache, the tasks that carry out its
/// decisions, and the requests that wait. Any thread may call any function. All ages are on the monotonic
/// clock.
public final class TokenSource: Sendable {
  /// The id of a scope, so that a cached token is found without a search.
  public struct ScopeID: Hashable, Sendable {
    let index: Int
    /// The scope's words.
    public let name: String
  }

  /// The Talkdesk account of a token. A reload may replace the account, and a token of one account must never
  /// be sent to the other's API.
  public struct Upstream: Hashable, Sendable {
    let account: Int
  }

  struct State {
    var cache: TokenCache
    var issuer: any TokenIssuer
    var scopes: [String: Int] = [:]
    var flights = Flights()
    var timers: [Task<Void, Never>?] = []
    var latest: [TokenRequestReport?] = []
    var accepted: [String?] = []
    var isShutDown = false
  }

  /// The time after its deadline at which an exchange is given up, even if the transport has not returned.
  private static let grace = Duration.milliseconds(250)

  let state: Mutex<State>
  let time: any TimeSource
  private let observer: (any TokenSourceObserver)?
  private let jitter: @Sendable () -> Double

  /// Creates a source. It requests nothing before the first request for a token.
  ///
  /// - Parameters:
  ///   - issuer: runs the exchanges.
  ///   - policy: how tokens are stored and vended.
  ///   - time: the clocks.
  ///   - observer: Called for every event.
  ///   - jitter: random numbers in 0..<1.
  public init(
    issuer: any TokenIssuer, policy: TokenPolicy = TokenPolicy(), time: any TimeSource,
    observer: (any TokenSourceObserver)? = nil,
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    state = Mutex(State(cache: TokenCache(policy: policy), issuer: issuer))
    self.time = time
    self.observer = observer
    self.jitter = jitter
  }

  deinit { shutdown() }

  // MARK: Tokens

  /// The id of a scope. Scopes come from the configuration, never from callers, and each id stays valid.
  public func scopeID(_ scope: String) -> ScopeID {
    state.withLock { state in
      if let known = state.scopes[scope] { return ScopeID(index: known, name: scope) }
      let index = state.cache.add(scope: scope)
      state.scopes[scope] = index
      state.timers.append(nil)
      state.latest.append(nil)
      state.accepted.append(nil)
      return ScopeID(index: index, name: scope)
    }
  }

  /// The shared token, if it may be vended now: one lock, no suspension, and no allocation unless a renewal
  /// starts. Counts as use of the token, and starts its renewal if that is due.
  ///
  /// - Parameters:
  ///   - upstream: the account that the token must belong to; nil for the current one.
  ///   - lane: the event loop of the request, for the observer.
  func cached(
    _ scope: ScopeID, of upstream: Upstream? = nil, now: MonotonicTime, lane: Int? = nil
  ) -> AccessToken? {
    let hit = state.withLock { state -> (token: AccessToken, renewal: TokenCache.ExchangeID?)? in
      if let upstream, upstream.account != state.cache.account { return nil }
      let hit = state.cache.hit(scope.index, now: now)
      if let renewal = hit?.renewal { begin(renewal, &state) }
      return hit
    }
    guard let hit else { return nil }
    tell(.hit, scope, lane: lane)
    if hit.renewal != nil { tell(.renewal, scope) }
    return hit.token
  }

  /// A token: the shared one, or the result of an exchange. All requests that wait share one exchange, unless
  /// tokens are not shared.
  ///
  /// If the task is canceled or its deadline passes, the wait ends but the exchange continues, unless tokens
  /// are not shared.
  ///
  /// - Parameters:
  ///   - upstream: the account that the token must belong to; nil for the current one.
  ///   - deadline: when this request gives up. The exchange has the policy's own deadline.
  ///   - trace: the trace of this token request. An exchange continues the trace of the first waiting request
  ///     that has one.
  func token(
    _ scope: ScopeID, of upstream: Upstream? = nil, deadline: MonotonicTime? = nil,
    trace: TraceContext? = nil
  ) async throws(TokenError) -> AccessToken {
    if let token = cached(scope, of: upstream, now: time.now) { return token }
    return try await wait(scope, of: upstream, deadline: deadline, trace, isProbe: false)
  }

  /// Whether a cached token may be vended now. Counts as use of the token, like vending.
  public func holdsToken(_ scope: ScopeID, now: MonotonicTime, lane: Int? = nil) -> Bool {
    cached(scope, now: now, lane: lane) != nil
  }

  /// Checks whether `token` would succeed. If tokens are not shared, not every probe costs an exchange: an
  /// exchange that succeeded less than a minute ago answers it, and concurrent probes share one.
  ///
  /// - Returns: false if a cached token or a recent exchange was enough.
  public func probe(
    _ scope: ScopeID, lane: Int? = nil, trace: TraceContext? = nil
  ) async throws(TokenError) -> Bool {
    let now = time.now
    if cached(scope, now: now, lane: lane) != nil { return false }
    if state.withLock({ state in state.cache.isProven(scope.index, now: now) && !state.isShutDown }) {
      return false
    }
    _ = try await wait(scope, of: nil, deadline: nil, trace, isProbe: true)
    return true
  }

  /// Drops a token that the API answered with 401, so that the next `token` gets another. Only the current
  /// token is dropped: if many requests were refused with the same token, the first starts an exchange and
  /// the others share it.
  ///
  /// - Returns: whether another request makes sense. False if forced refreshes come too often (more than 8 at
  ///   once, and then more than one every 5 s, without an `accepted`). The API then refuses new tokens as
  ///   well, so the token stays.
  public func invalidate(_ token: AccessToken, scope: ScopeID) -> Bool {
    let now = time.now
    let worth = state.withLock { state in state.cache.invalidate(token, scope: scope.index, now: now) }
    if worth { tell(.invalidated, scope) }
    return worth
  }

  /// Records that the API accepted the token after `invalidate`. The API refused only the earlier token, so
  /// the count of refreshes starts again.
  public func accepted(scope: ScopeID) { state.withLock { state in state.cache.accepted(scope.index) } }

  // MARK: Waiting

  private func wait(
    _ scope: ScopeID, of upstream: Upstream?, deadline: MonotonicTime?, _ trace: TraceContext?, isProbe: Bool
  ) async throws(TokenError) -> AccessToken {
    let waiter = state.withLock { state in state.flights.nextWaiter() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enter(waiter, scope, of: upstream, deadline: deadline, trace, isProbe: isProbe, continuation)
      }
    } onCancel: {
      leave(waiter, .cancelled)
    }
    return try result.get()
  }

  private func enter(
    _ waiter: Flights.WaiterID, _ scope: ScopeID, of upstream: Upstream?, deadline: MonotonicTime?,
    _ trace: TraceContext?, isProbe: Bool, _ continuation: Flights.Continuation
  ) {
    let now = time.now
    var outcome: TokenCacheOutcome?
    let answer: Result<AccessToken, TokenError>? = state.withLock { state in
      // The cancellation handler may have run before this request was added. Then the task is marked as
      // canceled.
      if Task.isCancelled { return .failure(.cancelled) }
      if let upstream, upstream.account != state.cache.account { return .failure(.upstreamChanged) }
      // An exchange may have ended since the check without waiting.
      if let (token, renewal) = state.cache.hit(scope.index, now: now) {
        outcome = .hit
        if let renewal { self.begin(renewal, &state) }
        return .success(token)
      }
      if state.isShutDown { return .failure(.shutDown) }
      if let deadline, deadline <= now { return .failure(.deadlineExceeded) }
      switch isProbe
        ? state.cache.requestProbe(scope.index, now: now) : state.cache.request(scope.index, now: now)
      {
      case .fail(let error):
        outcome = if case .overloaded = error { .overloaded } else { .coolingDown }
        return .failure(error)
      case .waitForTurn(let exchange, let until, let end):
        outcome = .miss
        let timer = expiry(of: waiter, at: min(deadline ?? end, end), turn: (exchange, until))
        state.flights.add(
          waiter, to: exchange, .init(continuation: continuation, timer: timer), trace: trace)
        return nil
      case .wait(let exchange, let end, let begin, let isShared):
        outcome = begin || !isShared ? .miss : .joined
        // Before its turn comes, an exchange has no watchdog of its own.
        let isWatched = begin || isShared
        let mine = min(deadline ?? end, end)
        let timer = mine < end || !isWatched ? expiry(of: waiter, at: mine) : nil
        state.flights.add(
          waiter, to: exchange, .init(continuation: continuation, timer: timer), trace: trace)
        if begin { self.begin(exchange, &state) }
        return nil
      }
    }
    if let outcome { tell(outcome, scope) }
    if let answer { continuation.resume(returning: answer) }
  }

  /// - Parameter turn: an exchange that has not started, and when it is too late to start.
  private func expiry(
    of waiter: Flights.WaiterID, at deadline: MonotonicTime,
    turn: (exchange: TokenCache.ExchangeID, until: MonotonicTime)? = nil
  ) -> Task<Void, Never> {
    Task.detached { [weak self, time] in
      // A canceled timer means that the request was answered.
      if let turn, turn.until < deadline {
        guard await time.hasSlept(until: turn.until) else { return }
        self?.missTurn(turn.exchange)
      }
      guard await time.hasSlept(until: deadline) else { return }
      self?.leave(waiter, .deadlineExceeded)
    }
  }

  private func missTurn(_ exchange: TokenCache.ExchangeID) {
    let now = time.now
    let missed = state.withLock { state -> (Flights.Flight, TokenError)? in
      guard let error = state.cache.missedTurn(exchange, now: now), let flight = state.flights.take(exchange)
      else { return nil }
      return (flight, error)
    }
    if let (flight, error) = missed { flight.answer(.failure(error)) }
  }

  private func leave(_ waiter: Flights.WaiterID, _ error: TokenError) {
    let (found, orphan) = state.withLock { state -> (Flights.Waiter?, Task<Void, Never>?) in
      guard let (found, exchange, isLast) = state.flights.remove(waiter) else { return (nil, nil) }
      // If the last request leaves an unshared exchange, the exchange is canceled.
      guard isLast, state.cache.abandoned(exchange) else { return (found, nil) }
      return (found, state.flights.task(of: exchange))
    }
    orphan?.cancel()
    found?.timer?.cancel()
    found?.continuation.resume(returning: .failure(error))
  }

  // MARK: Exchanging

  /// Starts an exchange under the lock under which it was created. If the lock were released in between, a
  /// reload could make the exchange use another account's credential.
  private func begin(_ id: TokenCache.ExchangeID, _ state: inout State) {
    guard !state.isShutDown, let exchange = state.cache.exchanges[id] else { return }
    let (issuer, observer) = (state.issuer, observer)
    let scope = state.cache.entries[exchange.scope].scope
    let (deadline, trace) = (exchange.deadline, state.flights.trace(of: id))
    let note: @Sendable (TokenRequestReport) -> Void = { [weak self] report in
      self?.note(report, scope: exchange.scope)
      observer?.tokenRequest(report)
    }
    let task = Task.detached { [weak self] in
      let result: Result<AccessToken, TokenExchangeError>
      do throws(TokenExchangeError) {
        result = .success(
          try await issuer.exchange(
            scope: scope, deadline: deadline, trace: trace, observe: note,
            change: { observer?.credentialChanged($0) }))
      } catch {
        result = .failure(error)
      }
      self?.end(id, result)
    }
    let watchdog = Task.detached { [weak self, time] in
      // A canceled watchdog means that the exchange has ended.
      guard await time.hasSlept(until: deadline + Self.grace) else { return }
      task.cancel()
      self?.end(id, .failure(.timedOut(sent: true)))
    }
    state.flights.begin(id, task: task, watchdog: watchdog)
  }

  private func end(_ id: TokenCache.ExchangeID, _ result: Result<AccessToken, TokenExchangeError>) {
    let (now, unit) = (time.now, jitter())
    var refused: [(Flights.Flight, TokenError)] = []
    let (completion, flight) = state.withLock { state -> (TokenCache.Completion?, Flights.Flight?) in
      guard let scope = state.cache.exchanges[id]?.scope else { return (nil, nil) }
      let flight = state.flights.take(id)
      let completion = state.cache.finished(
        id, result, waiters: flight?.waiters.count ?? 0, now: now, unit: unit)
      if let timer = completion?.timer, !state.isShutDown {
        state.timers[scope]?.cancel()
        state.timers[scope] = renewalTimer(
          ScopeID(index: scope, name: state.cache.entries[scope].scope), at: timer)
      }
      for (other, error) in completion?.refuse ?? [] {
        if let flight = state.flights.take(other) { refused.append((flight, error)) }
      }
      for other in completion?.begin ?? [] { begin(other, &state) }
      return (completion, flight)
    }
    guard let completion else { return }
    flight?.watchdog?.cancel()
    for (flight, error) in refused { flight.answer(.failure(error)) }
    flight?.answer(completion.result)
  }

  private func note(_ report: TokenRequestReport, scope: Int) {
    state.withLock { state in
      state.latest[scope] = report
      if case .success = report.outcome { state.accepted[scope] = report.credential }
    }
  }

  // MARK: Renewing

  private func renewalTimer(_ scope: ScopeID, at due: MonotonicTime) -> Task<Void, Never> {
    Task.detached { [weak self, time] in
      var due = due
      // A canceled wait means that another timer has taken over, or that the source is shut down.
      while await time.hasSlept(until: due) {
        guard let next = self?.renewalTimerFired(scope) else { return }
        due = next
      }
    }
  }

  /// - Returns: when to fire again; nil if an exchange was started, which sets the next timer, or if there is
  ///   nothing to do.
  private func renewalTimerFired(_ scope: ScopeID) -> MonotonicTime? {
    let now = time.now
    let renewal = state.withLock { state in
      let renewal = state.cache.renewalDue(scope.index, now: now)
      if case .begin(let id) = renewal { begin(id, &state) }
      return renewal
    }
    switch renewal {
    case .begin:
      tell(.renewal, scope)
      return nil
    case .sleep(let until): return until
    case .rest: return nil
    }
  }

  private func tell(_ outcome: TokenCacheOutcome, _ scope: ScopeID, lane: Int? = nil) {
    observer?.tokenCache(outcome, scope: scope.name, lane: lane)
  }
}
