// Supplies session tokens: caches one for each user, and sends at most one request at a time for each.

package import Gate
package import HTTP
import JOSE
package import Platform
import Synchronization
import Texts
package import Tokens

/// The source of session tokens for one chat desk.
///
/// Every method may be called from any thread.
package final class SessionSource: Sendable {
  /// The one running request for a user's token. All requests that need the token wait for it.
  private final class Flight: Sendable {
    let waiters = Waiters()
    let result = Mutex<Result<SessionToken, TokenError>?>(nil)
  }

  private struct State {
    var api: SendbirdAPI
    var cache = SessionCache()
    var flights: [UserID: Flight] = [:]
    var standing = SendbirdStanding()
    /// Users that Sendbird refused less than `refusalLife` ago.
    var refused: [UserID: (error: TokenExchangeError, until: Expiry)] = [:]
  }

  /// Whether a request may be sent to Sendbird.
  package typealias Permission = @Sendable () async -> Bool

  /// The time for which the server sends no further request for a user that Sendbird refused, and the maximum
  /// number of such users. One more clears the list.
  static let refusalLife = Duration.seconds(30)
  static let mostRefused = 1000

  private let state: Mutex<State>
  private let time: any TimeSource
  private let observe: @Sendable (SendbirdReport) -> Void
  private let count: @Sendable (TokenCacheOutcome, _ lane: Int?) -> Void
  private let jitter: @Sendable () -> Double

  /// Creates a source. It sends nothing until a token is needed.
  ///
  /// - Parameters:
  ///   - observe: Called with a report of each request. Must return at once.
  ///   - count: Called with the outcome of each request for a token, with its loop. Must return at once.
  ///   - jitter: Returns a random number in 0..<1, which varies the cool-downs.
  package init(
    _ api: SendbirdAPI, time: any TimeSource,
    observe: @escaping @Sendable (SendbirdReport) -> Void = { _ in },
    count: @escaping @Sendable (TokenCacheOutcome, _ lane: Int?) -> Void = { _, _ in },
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    state = Mutex(State(api: api))
    self.time = time
    self.observe = observe
    self.count = count
    self.jitter = jitter
  }

  // MARK: Tokens

  /// The user's token, if it is cached and at least 20% of its lifetime is left.
  package func vendAtOnce(
    _ grant: consuming Grant, user: DeskUser, now: MonotonicTime, lane: Int? = nil
  ) -> Vended<SessionToken> {
    Self.check(grant, user)
    guard let token = cached(user.id, now, lane) else { return .notCached(grant) }
    return .token(token)
  }

  /// A token of the user: the cached one, or the result of the one request to Sendbird that all requests for
  /// this user wait for.
  ///
  /// Canceling the task ends the wait, but not the request.
  /// - Parameter mayAsk: Called once before the requests to Sendbird for a token. Not called for a cached
  ///   token, during a cool-down, or if another request for this user is running. If it returns false,
  ///   nothing is sent, and all requests that wait get `TokenError.unrecorded`.
  package func vend(
    _ grant: consuming Grant, user: DeskUser, trace: TraceContext? = nil,
    if mayAsk: @escaping Permission
  ) async throws(TokenError) -> SessionToken {
    Self.check(grant, user)
    return try await token(user.id, trace, mayAsk).token
  }

  /// Checks whether `vend` would return a token.
  /// - Returns: Whether a request to Sendbird was needed, of this call or of one that was already running.
  package func probe(
    _ user: DeskUser, lane: Int? = nil, trace: TraceContext? = nil,
    if mayAsk: @escaping Permission
  ) async throws(TokenError) -> Bool {
    if cached(user.id, time.now, lane) != nil { return false }
    return try await token(user.id, trace, mayAsk).isNew
  }

  /// Whether a token is cached that may be handed out now.
  package func holdsToken(_ user: DeskUser, now: MonotonicTime, lane: Int? = nil) -> Bool {
    cached(user.id, now, lane) != nil
  }

  private static func check(_ grant: borrowing Grant, _ user: DeskUser) {
    precondition(grant.action == .access, "a token for a client without a grant of access")
    precondition(user.isNamed(by: grant), "a token of another user than was granted")
  }

  private func cached(_ user: UserID, _ now: MonotonicTime, _ lane: Int?) -> SessionToken? {
    let token = state.withLock { $0.cache.token(of: user, now: now) }
    if token != nil { count(.hit, lane) }
    return token
  }

  private func token(
    _ user: UserID, _ trace: TraceContext?, _ mayAsk: @escaping Permission
  ) async throws(TokenError) -> (token: SessionToken, isNew: Bool) {
    let now = time.now
    let (outcome, step) = state.withLock { state -> (TokenCacheOutcome, Step) in
      // A request may have ended since `vendAtOnce` found no token.
      if let token = state.cache.token(of: user, now: now) { return (.hit, .answer(.success(token))) }
      if let flight = state.flights[user] { return (.joined, .wait(flight)) }
      if let (cause, rest) = state.standing.coolingDown(now) {
        return (.coolingDown, .answer(.failure(.coolingDown(cause: cause, retryAfter: rest))))
      }
      if let (error, until) = state.refused[user], now < until {
        return (.coolingDown, .answer(.failure(.exchangeFailed(error, retryAfter: until - now))))
      }
      return (.miss, .wait(begin(user, trace, mayAsk, &state)))
    }
    count(outcome, nil)
    switch step {
    case .answer(let result): return (try result.get(), false)
    case .wait(let flight):
      await flight.waiters.wait { flight.result.withLock { $0 } != nil }
      guard let result = flight.result.withLock({ $0 }) else { throw .cancelled }
      return (try result.get(), true)
    }
  }

  /// The next step for a token that `vendAtOnce` did not find.
  private enum Step {
    case answer(Result<SessionToken, TokenError>)
    case wait(Flight)
  }

  private func begin(
    _ user: UserID, _ trace: TraceContext?, _ mayAsk: @escaping Permission, _ state: inout State
  ) -> Flight {
    let flight = Flight()
    state.flights[user] = flight
    Task.detached { [self] in
      guard await mayAsk() else {
        self.state.withLock { if $0.flights[user] === flight { $0.flights[user] = nil } }
        return finish(flight, .failure(.unrecorded))
      }
      // The deadline starts here, so that waiting for the permission takes nothing from Sendbird's time. The
      // configuration may have changed meanwhile.
      let (api, epoch) = self.state.withLock { ($0.api, $0.standing.epoch) }
      let start = time.now
      let result: Result<SessionToken, SendbirdFailure>
      do throws(SendbirdFailure) {
        result = .success(
          try await api.sessionToken(for: user, deadline: start + api.settings.deadline, trace: trace) {
            report in
            self.state.withLock { $0.standing.note(report, of: epoch) }
            observe(report)
          })
      } catch {
        result = .failure(error)
      }
      finish(flight, end(user, flight, result, startedAt: start, epoch))
    }
    return flight
  }

  private func finish(_ flight: Flight, _ answer: Result<SessionToken, TokenError>) {
    flight.result.withLock { $0 = answer }
    flight.waiters.wakeAll()
  }

  private func end(
    _ user: UserID, _ flight: Flight, _ result: Result<SessionToken, SendbirdFailure>,
    startedAt start: MonotonicTime, _ epoch: Int
  ) -> Result<SessionToken, TokenError> {
    let (now, unit) = (time.now, jitter())
    return state.withLock { state in
      if state.flights[user] === flight { state.flights[user] = nil }
      switch result {
      case .success(let token):
        guard now <= token.vendableUntil else {
          return .failure(.exchangeFailed(.unusableReply(.late), retryAfter: .seconds(1)))
        }
        guard epoch == state.standing.epoch else { return .success(token) }
        state.standing.succeeded(startedAt: start, of: epoch)
        state.refused[user] = nil
        state.cache.keep(token)
        return .success(token)
      case .failure(let met):
        let failure = state.standing.judged(met, of: user, of: epoch, now: now)
        guard failure.concern == .everyUser || epoch != state.standing.epoch else {
          if state.refused.count >= Self.mostRefused { state.refused = [:] }
          state.refused[user] = (failure.cause, Expiry(now + Self.refusalLife))
          return .failure(.exchangeFailed(failure.cause, retryAfter: Self.refusalLife))
        }
        return .failure(state.standing.failed(failure, startedAt: start, of: epoch, now: now, unit: unit))
      }
    }
  }

  // MARK: Operating

  /// Applies other settings of the same application. If the credential changed, its cool-down ends. If the
  /// new lifetime is shorter, cached tokens are dropped, because they would outlive it.
  package func reconfigure(_ settings: SendbirdSettings) {
    state.withLock { state in
      let old = state.api.settings
      let isSameToken = old.apiToken.isEqual(to: settings.apiToken.exposedBytes())
      state.api = state.api.with(settings)
      guard !isSameToken || old.tokenLife != settings.tokenLife else { return }
      state.standing.begin(hasSameToken: isSameToken)
      // Callers that wait get the old request's result. The next request uses the new settings.
      state.flights = [:]
      if settings.tokenLife < old.tokenLife { state.cache.removeAll() }
      if !isSameToken { state.refused = [:] }
    }
  }

  /// Drops the cached tokens, so that the next requests go to Sendbird. For the sandbox.
  package func forgetTokens() { state.withLock { $0.cache.removeAll() } }

  /// Ends all cool-downs, including those of single users. For the sandbox.
  package func endCoolDowns() {
    state.withLock { state in
      state.standing.endCoolDowns()
      state.refused = [:]
    }
  }

  /// The state of a source.
  package struct Status: Sendable {
    /// The number of users with a cached token, including expired tokens.
    package let users: Int
    /// The latest request whose result applies to all users; nil before the first.
    package let latest: SendbirdReport?
    /// The time since that request ended; nil before the first.
    package let latestAge: Duration?
    /// The time left of the longest cool-down; nil if there is none.
    package let coolDown: Duration?

    /// Whether the latest request succeeded. Also true before the first request.
    package var isWell: Bool { latest?.failure == nil }
  }

  /// The current state. Reading it sends no request.
  package var status: Status {
    let now = time.now
    return state.withLock { state in
      let latest = state.standing.latest
      return Status(
        users: state.cache.count, latest: latest,
        latestAge: latest.map { now - ($0.startedAt + $0.duration) },
        coolDown: state.standing.coolingDown(now)?.remaining)
    }
  }
}
