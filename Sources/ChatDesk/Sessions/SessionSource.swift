// Supplies session tokens: one kept for each user, with one request at a time for each.

package import Gate
package import HTTP
import JOSE
package import Platform
import Synchronization
import Texts
package import Tokens

/// Where the session tokens of one chat desk come from.
///
/// Any thread may call anything.
package final class SessionSource: Sendable {
  /// What all requests for one user's token wait for.
  private final class Flight: Sendable {
    let waiters = Waiters()
    let result = Mutex<Result<SessionToken, TokenError>?>(nil)
  }

  private struct State {
    var api: SendbirdAPI
    var cache = SessionCache()
    var flights: [UserID: Flight] = [:]
    var standing = SendbirdStanding()
    /// Users that Sendbird refused a moment ago.
    var refused: [UserID: (error: TokenExchangeError, until: Expiry)] = [:]
  }

  /// Whether a request may be sent to Sendbird.
  package typealias Permission = @Sendable () async -> Bool

  /// How long Sendbird is not asked for a user that it refused, and for how many users that is known.
  static let refusalLife = Duration.seconds(30)
  static let mostRefused = 1000

  private let state: Mutex<State>
  private let time: any TimeSource
  private let observe: @Sendable (SendbirdReport) -> Void
  private let count: @Sendable (TokenCacheOutcome, _ lane: Int?) -> Void
  private let jitter: @Sendable () -> Double

  /// Makes a source; nothing is asked before a token is.
  ///
  /// - Parameters:
  ///   - observe: Gets a report of every single request. It must return at once.
  ///   - count: Gets the outcome of every request for a token, with its loop. It must return at once.
  ///   - jitter: Random numbers in 0..<1.
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

  /// The user's token, if it is kept and 20 % of its life is left.
  package func vendAtOnce(
    _ grant: consuming Grant, user: DeskUser, now: MonotonicTime, lane: Int? = nil
  ) -> Vended<SessionToken> {
    Self.check(grant, user)
    guard let token = cached(user.id, now, lane) else { return .notCached(grant) }
    return .token(token)
  }

  /// A token of the user: the one that is kept, or the result of the request that all who ask for this user wait for.
  ///
  /// Cancelling the task ends the wait and not the request.
  /// - Parameter mayAsk: Called once before a request to Sendbird, and not for a kept token. If it returns false, nothing is sent, and
  ///   all who wait get `TokenError.unrecorded`.
  package func vend(
    _ grant: consuming Grant, user: DeskUser, trace: TraceContext? = nil,
    if mayAsk: @escaping Permission
  ) async throws(TokenError) -> SessionToken {
    Self.check(grant, user)
    return try await token(user.id, trace, mayAsk).token
  }

  /// Finds out whether `vend` would bring a token.
  /// - Returns: Whether Sendbird was asked for it.
  package func probe(
    _ user: DeskUser, lane: Int? = nil, trace: TraceContext? = nil,
    if mayAsk: @escaping Permission
  ) async throws(TokenError) -> Bool {
    if cached(user.id, time.now, lane) != nil { return false }
    return try await token(user.id, trace, mayAsk).isNew
  }

  /// Whether there is a token that may be vended now.
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
      // A request may have ended since the look without waiting.
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

  /// How a request for a token that is not kept goes on.
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
      // The wait for the permission is none for Sendbird, and the configuration may have changed meanwhile.
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

  /// Takes other settings of the same application into use. With another credential its cool-down ends. Tokens that would
  /// outlive a shorter life are forgotten.
  package func reconfigure(_ settings: SendbirdSettings) {
    state.withLock { state in
      let old = state.api.settings
      let isSameToken = old.apiToken.isEqual(to: settings.apiToken.exposedBytes())
      state.api = state.api.with(settings)
      guard !isSameToken || old.tokenLife != settings.tokenLife else { return }
      state.standing.begin(hasSameToken: isSameToken)
      // Those who wait get the old request's result; the next one is made with the new settings.
      state.flights = [:]
      if settings.tokenLife < old.tokenLife { state.cache.removeAll() }
      if !isSameToken { state.refused = [:] }
    }
  }

  /// Forgets the tokens that are kept: the next requests ask Sendbird. For the sandbox.
  package func forgetTokens() { state.withLock { $0.cache.removeAll() } }

  /// Ends its cool-downs, those of single users too. For the sandbox.
  package func endCoolDowns() {
    state.withLock { state in
      state.standing.endCoolDowns()
      state.refused = [:]
    }
  }

  /// How a source is doing.
  package struct Status: Sendable {
    /// How many users' tokens are kept.
    package let users: Int
    /// The latest request that says anything about all users; nil before the first.
    package let latest: SendbirdReport?
    /// How long that one is over.
    package let latestAge: Duration?
    /// How long Sendbird is left alone yet.
    package let coolDown: Duration?

    /// Whether that request succeeded, or none was made.
    package var isWell: Bool { latest?.failure == nil }
  }

  /// How it is doing. Asking sends no request.
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
