public import Platform
internal import Synchronization

/// Where tokens come from: one shared token per scope, renewed ahead of time, with at most one exchange at a time.
///
/// Judgement is `TokenCache`'s; here are the lock round it, the tasks that carry out what it decides, and those who wait.
/// Any thread may call anything. All ages are taken on the monotonic clock.
public final class TokenSource: Sendable {
  /// Names a scope, so that the way to a cached token needs no search.
  public struct ScopeID: Hashable, Sendable {
    let index: Int
    /// The scope's words.
    public let name: String
  }

  private struct Waiter {
    let continuation: CheckedContinuation<Result<AccessToken, TokenError>, Never>
    /// Ends the wait at the caller's deadline, where that comes before the exchange's.
    let timer: Task<Void, Never>?
  }

  private struct Flight {
    var task: Task<Void, Never>?
    var watchdog: Task<Void, Never>?
    var waiters: [UInt64: Waiter] = [:]
  }

  private struct State {
    var cache: TokenCache
    var talkdeskID: TalkdeskID
    var scopes: [String: Int] = [:]
    var flights: [TokenCache.ExchangeID: Flight] = [:]
    /// Which exchange a waiter waits for.
    var waits: [UInt64: TokenCache.ExchangeID] = [:]
    var lastWaiter: UInt64 = 0
    var timers: [Task<Void, Never>?] = []
    var latest: [TokenRequestReport?] = []
    var accepted: [String?] = []
    var isShutDown = false
  }

  /// An exchange that runs longer than its deadline by this much is given up, whatever the transport promises.
  private static let grace = Duration.milliseconds(250)

  private let state: Mutex<State>
  private let time: any TimeSource
  private let observer: (any TokenSourceObserver)?
  private let jitter: @Sendable () -> Double

  /// Makes a source; nothing is asked before a token is.
  ///
  /// - Parameters:
  ///   - talkdeskID: makes the exchanges.
  ///   - policy: how tokens are kept.
  ///   - time: the clocks.
  ///   - observer: is told of everything.
  ///   - jitter: random numbers in 0..<1.
  public init(
    talkdeskID: TalkdeskID, policy: TokenPolicy = TokenPolicy(), time: any TimeSource,
    observer: (any TokenSourceObserver)? = nil,
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    state = Mutex(State(cache: TokenCache(policy: policy), talkdeskID: talkdeskID))
    self.time = time
    self.observer = observer
    self.jitter = jitter
  }

  deinit { shutdown() }

  // MARK: Vending

  /// The id of a scope. Scopes come from configuration, never from callers: each keeps its place for good.
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

  /// The shared token, if it may be vended now: one lock, no allocation, no suspension. Counts as use of the token, and
  /// begins its renewal where that is due.
  public func cached(_ scope: ScopeID, now: MonotonicTime) -> AccessToken? {
    let hit = state.withLock { state in state.cache.hit(scope.index, now: now) }
    guard let hit else { return nil }
    tell(.hit, scope)
    if let renewal = hit.renewal {
      tell(.renewal, scope)
      begin(renewal)
    }
    return hit.token
  }

  /// A token: the shared one, or the result of the exchange that everybody else waits for, too.
  ///
  /// Cancelling the task, or its deadline, ends the wait and not the exchange, unless tokens are not shared.
  ///
  /// - Parameter deadline: when this caller gives up; the exchange has the policy's deadline anyway.
  public func token(
    _ scope: ScopeID, deadline: MonotonicTime? = nil
  ) async throws(TokenError) -> AccessToken {
    if let token = cached(scope, now: time.now) { return token }
    let waiter = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enter(waiter, scope, deadline: deadline, continuation)
      }
    } onCancel: {
      leave(waiter, .cancelled)
    }
    return try result.get()
  }

  /// Gives up a token that the API answered with 401, so that the next `token` brings another. Only the current one is
  /// given up: of many requests that were refused with the same token the first makes the exchange, the rest share it.
  ///
  /// - Returns: whether asking again is worth it. False once forced refreshes come too often (more than 8 at once, or
  ///   one each 5 s), which means that the API refuses new tokens as well; the token is kept then.
  public func invalidate(_ token: AccessToken, scope: ScopeID) -> Bool {
    let now = time.now
    let worth = state.withLock { state in state.cache.invalidate(token, scope: scope.index, now: now) }
    if worth { tell(.invalidated, scope) }
    return worth
  }

  // MARK: Operating

  /// Takes another configuration into use. Cool-downs end; a cached token is kept if it comes from the same endpoint for
  /// a client that is still configured.
  public func reconfigure(talkdeskID: TalkdeskID, policy: TokenPolicy) {
    state.withLock { state in
      let sameEndpoint = state.talkdeskID.endpoints.tokenURL == talkdeskID.endpoints.tokenURL
      let clients = Set(talkdeskID.credentials.map(\.clientID))
      state.cache.reconfigure(policy: policy) { sameEndpoint && clients.contains($0.clientID) }
      state.talkdeskID = talkdeskID
    }
  }

  /// How it is doing.
  public var status: TokenSourceStatus {
    let now = time.now
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
        })
    }
  }

  /// Ends everything: those who wait get `shutDown`, and so does whoever asks later and finds nothing cached.
  public func shutdown() {
    let (flights, timers) = state.withLock { state in
      state.isShutDown = true
      defer {
        state.flights = [:]
        state.waits = [:]
        state.timers = state.timers.map { _ in nil }
      }
      return (state.flights, state.timers)
    }
    for timer in timers { timer?.cancel() }
    for flight in flights.values {
      flight.task?.cancel()
      flight.watchdog?.cancel()
      Self.resume(flight.waiters.values, .failure(.shutDown))
    }
  }

  // MARK: Waiting

  private func enter(
    _ waiter: UInt64, _ scope: ScopeID, deadline: MonotonicTime?,
    _ continuation: CheckedContinuation<Result<AccessToken, TokenError>, Never>
  ) {
    let now = time.now
    var outcome: TokenCacheOutcome?
    var begins: TokenCache.ExchangeID?
    let answer: Result<AccessToken, TokenError>? = state.withLock { state in
      // The handler may have run before there was anything to cancel; what it left is this flag.
      if Task.isCancelled { return .failure(.cancelled) }
      // An exchange may have ended since the look without waiting.
      if let (token, renewal) = state.cache.hit(scope.index, now: now) {
        (outcome, begins) = (.hit, renewal)
        return .success(token)
      }
      if state.isShutDown { return .failure(.shutDown) }
      if let deadline, deadline <= now { return .failure(.deadlineExceeded) }
      switch state.cache.request(scope.index, now: now) {
      case .token(let token):
        outcome = .hit
        return .success(token)
      case .fail(let error):
        outcome = .coolingDown
        return .failure(error)
      case .wait(let exchange, let end, let begin, let isShared):
        outcome = begin || !isShared ? .miss : .joined
        if begin { begins = exchange }
        // Before its turn has come, an exchange has no watchdog of its own.
        let isWatched = begin || isShared
        let mine = min(deadline ?? end, end)
        let timer = mine < end || !isWatched ? expiry(of: waiter, at: mine) : nil
        state.waits[waiter] = exchange
        state.flights[exchange, default: Flight()].waiters[waiter] = Waiter(
          continuation: continuation, timer: timer)
        return nil
      }
    }
    if let outcome { tell(outcome, scope) }
    if let begins { begin(begins) }
    if let answer { continuation.resume(returning: answer) }
  }

  private func expiry(of waiter: UInt64, at deadline: MonotonicTime) -> Task<Void, Never> {
    Task.detached { [weak self, time] in
      // Cancelled means answered: nothing is left to end.
      guard (try? await time.sleep(until: deadline)) != nil else { return }
      self?.leave(waiter, .deadlineExceeded)
    }
  }

  private func leave(_ waiter: UInt64, _ error: TokenError) {
    let (found, orphan) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
      guard let exchange = state.waits.removeValue(forKey: waiter) else { return (nil, nil) }
      let found = state.flights[exchange]?.waiters.removeValue(forKey: waiter)
      guard state.flights[exchange]?.waiters.isEmpty == true else { return (found, nil) }
      if state.cache.abandoned(exchange) { return (found, state.flights[exchange]?.task) }
      // It never began, or it is shared and goes on for others to come.
      if state.flights[exchange]?.task == nil { state.flights[exchange] = nil }
      return (found, nil)
    }
    orphan?.cancel()
    found?.timer?.cancel()
    found?.continuation.resume(returning: .failure(error))
  }

  // MARK: Exchanging

  private func begin(_ id: TokenCache.ExchangeID) {
    state.withLock { state in
      guard !state.isShutDown, let exchange = state.cache.exchanges[id] else { return }
      let (talkdeskID, observer) = (state.talkdeskID, observer)
      let scope = state.cache.entries[exchange.scope].scope
      let deadline = exchange.deadline
      let note: @Sendable (TokenRequestReport) -> Void = { [weak self] report in
        self?.note(report, scope: exchange.scope)
        observer?.tokenRequest(report)
      }
      let task = Task.detached { [weak self] in
        let result: Result<AccessToken, TokenExchangeError>
        do throws(TokenExchangeError) {
          result = .success(
            try await talkdeskID.exchange(scope: scope, deadline: deadline, observe: note))
        } catch {
          result = .failure(error)
        }
        self?.end(id, result)
      }
      let watchdog = Task.detached { [weak self, time] in
        // Cancelled means over: nothing is left to give up.
        guard (try? await time.sleep(until: deadline + Self.grace)) != nil else { return }
        task.cancel()
        self?.end(id, .failure(.timedOut(sent: true)))
      }
      state.flights[id, default: Flight()].task = task
      state.flights[id]?.watchdog = watchdog
    }
  }

  private func end(_ id: TokenCache.ExchangeID, _ result: Result<AccessToken, TokenExchangeError>) {
    let (now, unit) = (time.now, jitter())
    var refused: [(Dictionary<UInt64, Waiter>.Values, TokenError)] = []
    let (completion, flight) = state.withLock { state -> (TokenCache.Completion?, Flight?) in
      guard let scope = state.cache.exchanges[id]?.scope else { return (nil, nil) }
      let flight = state.flights.removeValue(forKey: id)
      for waiter in (flight?.waiters ?? [:]).keys { state.waits[waiter] = nil }
      let completion = state.cache.finished(
        id, result, waiters: flight?.waiters.count ?? 0, now: now, unit: unit)
      if let timer = completion?.timer, !state.isShutDown {
        state.timers[scope]?.cancel()
        state.timers[scope] = renewalTimer(
          ScopeID(index: scope, name: state.cache.entries[scope].scope), at: timer)
      }
      for (other, error) in completion?.refuse ?? [] {
        guard let flight = state.flights.removeValue(forKey: other) else { continue }
        for waiter in flight.waiters.keys { state.waits[waiter] = nil }
        refused.append((flight.waiters.values, error))
      }
      return (completion, flight)
    }
    guard let completion else { return }
    flight?.watchdog?.cancel()
    for other in completion.begin { begin(other) }
    for (waiters, error) in refused { Self.resume(waiters, .failure(error)) }
    if let waiters = flight?.waiters.values { Self.resume(waiters, completion.result) }
  }

  private static func resume(
    _ waiters: Dictionary<UInt64, Waiter>.Values, _ result: Result<AccessToken, TokenError>
  ) {
    for waiter in waiters {
      waiter.timer?.cancel()
      waiter.continuation.resume(returning: result)
    }
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
      // Cancelled means that another timer has taken over.
      while (try? await time.sleep(until: due)) != nil {
        guard let next = self?.renewalTimerFired(scope) else { return }
        due = next
      }
    }
  }

  /// - Returns: when to come again; nil where an exchange was begun, which sets the next timer, or there is nothing to do.
  private func renewalTimerFired(_ scope: ScopeID) -> MonotonicTime? {
    let now = time.now
    switch state.withLock({ state in state.cache.renewalDue(scope.index, now: now) }) {
    case .begin(let id, _):
      tell(.renewal, scope)
      begin(id)
      return nil
    case .sleep(let until): return until
    case .rest: return nil
    }
  }

  private func tell(_ outcome: TokenCacheOutcome, _ scope: ScopeID) {
    observer?.tokenCache(outcome, scope: scope.name)
  }
}
