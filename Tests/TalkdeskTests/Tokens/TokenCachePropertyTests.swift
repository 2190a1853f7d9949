// Tests that the token cache keeps its promises on random days.

import HTTP
import Platform
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

/// Runs the cache through random days, and checks with separate arithmetic what must be true on each.
@Suite struct TokenCachePropertyTests {
  private struct World {
    var dice: SeededGenerator
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var cache: TokenCache
    let policy: TokenPolicy
    /// Exchanges in progress, and the time at which each began.
    var flights: [(id: TokenCache.ExchangeID, begun: MonotonicTime)] = []
    var timer: MonotonicTime?
    /// No exchange may begin before this time, because of a 429.
    var silence = MonotonicTime(nanoseconds: .min)
    var vended = 0
    var renewed = 0

    init(seed: UInt64) {
      dice = SeededGenerator(seed)
      let minimum = Duration.seconds(Int.random(in: 0...300, using: &dice))
      policy = TokenPolicy(minRemaining: minimum)
      cache = TokenCache(policy: policy)
      _ = cache.add(scope: "s")
    }

    func checkVended(_ token: AccessToken, fromCache: Bool) {
      guard let lifetime = token.lifetime else {
        #expect(!fromCache, "a token of unknown life was kept")
        return
      }
      let left = lifetime - (now - token.obtainedAt)
      #expect(left > .zero, "an expired token was vended")
      #expect(
        left >= min(policy.minRemaining, lifetime / 2), "a token was vended with \(left) of \(lifetime) left")
    }

    mutating func began(_ id: TokenCache.ExchangeID) {
      #expect(flights.isEmpty, "two exchanges of one scope at once")
      #expect(now >= silence, "an exchange began while Talkdesk ID had asked for silence")
      flights.append((id, now))
    }

    mutating func ask() {
      if let (token, renewal) = cache.hit(0, now: now) {
        vended += 1
        checkVended(token, fromCache: true)
        if let renewal {
          renewed += 1
          began(renewal)
        }
        return
      }
      switch cache.request(0, now: now) {
      case .wait(let id, _, let begin, _): if begin { began(id) }
      case .waitForTurn: Issue.record("a shared exchange has no turn")
      case .fail(let error): #expect((error.retryAfter ?? .zero) > .zero)
      }
    }

    mutating func reply() {
      guard let (id, begun) = flights.popLast() else { return }
      let result: Result<AccessToken, TokenExchangeError>
      switch Int.random(in: 0..<10, using: &dice) {
      case 0: result = .failure(.unavailable(status: 503, retryAfter: nil))
      case 1: result = .failure(.refused(status: 401, code: nil))
      case 2: result = .failure(.rateLimited(retryAfter: .seconds(Int.random(in: 0...90, using: &dice))))
      case 3: result = .failure(.timedOut(sent: true))
      case 4: result = .success(token(begun, nil))
      default: result = .success(token(begun, .milliseconds(Int.random(in: 1000...900_000, using: &dice))))
      }
      if case .failure(.rateLimited(let wait?)) = result {
        silence = max(silence, now + min(max(wait, .seconds(1)), .seconds(60)))
      }
      let done = cache.finished(
        id, result, waiters: Int.random(in: 0...3, using: &dice), now: now, unit: dice.unit())
      if let next = done?.timer { timer = next }
      if case .success(let token) = done?.result {
        checkVended(token, fromCache: false)
        if case .success = result, let lifetime = token.lifetime, let next = done?.timer {
          let age = next - token.obtainedAt
          #expect(age * 2 >= lifetime && age * 5 <= lifetime * 4, "renewal at \(age) of \(lifetime)")
        }
      }
    }

    private func token(_ obtainedAt: MonotonicTime, _ lifetime: Duration?) -> AccessToken {
      AccessToken(token: [0x74], scope: "s", clientID: "c", obtainedAt: obtainedAt, lifetime: lifetime)
    }

    mutating func step() {
      // Mostly small steps, and some long ones. No step passes a timer or a deadline without stopping there.
      let long = dice.unit() < 0.05
      var next = now + .milliseconds(Int.random(in: 0...(long ? 400_000 : 20_000), using: &dice))
      if let timer, timer > now { next = min(next, timer) }
      if let flight = flights.first { next = min(next, flight.begun + policy.deadline) }
      now = next
      if let due = timer, now >= due {
        timer = nil
        switch cache.renewalDue(0, now: now) {
        case .begin(let id):
          renewed += 1
          began(id)
        case .sleep(let until): timer = until
        case .rest: break
        }
      }
      if dice.unit() < 0.5 || flights.first.map({ now >= $0.begun + policy.deadline }) == true { reply() }
      if dice.unit() < 0.6 { ask() }
      if dice.unit() < 0.01, let token = cache.hit(0, now: now)?.token {
        // The cache hit may have begun an exchange, which the next request finds.
        flights = cache.exchanges.map { ($0.key, $0.value.startedAt) }
        _ = cache.invalidate(token, scope: 0, now: now)
      }
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `whatever happens, no token is vended too late and Talkdesk ID is asked once at a time`(seed: UInt64) {
    var world = World(seed: seed)
    for _ in 0..<5000 { world.step() }
    #expect(world.vended > 100)
    #expect(world.renewed > 5)
  }
}
