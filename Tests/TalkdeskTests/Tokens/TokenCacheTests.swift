// Tests of when the token cache vends, renews, waits and refuses.

import HTTP
import Platform
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

/// The cache in a class, so that an expectation may call mutating functions.
private final class HeldCache {
  private var cache: TokenCache

  init(_ cache: TokenCache) { self.cache = cache }

  var exchanges: [TokenCache.ExchangeID: TokenCache.Exchange] { cache.exchanges }
  var outage: Cooldown { cache.outage }

  func add(scope: String) -> Int { cache.add(scope: scope) }
  func hit(_ scope: Int, now: MonotonicTime) -> (token: AccessToken, renewal: TokenCache.ExchangeID?)? {
    cache.hit(scope, now: now)
  }
  func request(_ scope: Int, now: MonotonicTime) -> TokenCache.Answer { cache.request(scope, now: now) }
  func isProven(_ scope: Int, now: MonotonicTime) -> Bool { cache.isProven(scope, now: now) }
  func requestProbe(_ scope: Int, now: MonotonicTime) -> TokenCache.Answer {
    cache.requestProbe(scope, now: now)
  }
  func invalidate(_ token: AccessToken, scope: Int, now: MonotonicTime) -> Bool {
    cache.invalidate(token, scope: scope, now: now)
  }
  func accepted(_ scope: Int) { cache.accepted(scope) }
  func missedTurn(_ id: TokenCache.ExchangeID, now: MonotonicTime) -> TokenError? {
    cache.missedTurn(id, now: now)
  }
  func abandoned(_ id: TokenCache.ExchangeID) -> Bool { cache.abandoned(id) }
  func renewalDue(_ scope: Int, now: MonotonicTime) -> TokenCache.Renewal {
    cache.renewalDue(scope, now: now)
  }
  func finished(
    _ id: TokenCache.ExchangeID, _ result: Result<AccessToken, TokenExchangeError>, waiters: Int,
    now: MonotonicTime, unit: Double
  ) -> TokenCache.Completion? {
    cache.finished(id, result, waiters: waiters, now: now, unit: unit)
  }
  func changeCredential() { cache.changeCredential() }
  func endCoolDowns() { cache.endCoolDowns() }
  func moveAccount() -> [TokenCache.ExchangeID] { cache.moveAccount() }
  func reconfigure(policy: TokenPolicy, keeping: (AccessToken) -> Bool) {
    cache.reconfigure(policy: policy, keeping: keeping)
  }
}

extension TokenCache.Completion {
  fileprivate var token: AccessToken? {
    if case .success(let token) = result { token } else { nil }
  }
}

@Suite struct TokenCacheTests {
  private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

  private func token(_ obtainedAt: MonotonicTime, lifetime: Duration?, client: String = "c") -> AccessToken {
    AccessToken(token: [0x74], scope: "s", clientID: client, obtainedAt: obtainedAt, lifetime: lifetime)
  }

  private func cache(_ policy: TokenPolicy = TokenPolicy()) -> HeldCache {
    let cache = HeldCache(TokenCache(policy: policy))
    _ = cache.add(scope: "s")
    return cache
  }

  private func begun(_ answer: TokenCache.Answer) throws -> TokenCache.ExchangeID {
    guard case .wait(let id, _, true, _) = answer else { throw NeverHappened() }
    return id
  }

  /// A cache with a token valid for 600 s, used only by the requests that waited for it.
  private func filled(unit: Double = 0.5, waiters: Int = 1, lifetime: Duration = .seconds(600)) throws
    -> HeldCache
  {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(
      id, .success(token(Self.start, lifetime: lifetime)), waiters: waiters, now: Self.start, unit: unit)
    return cache
  }

  @Test func `the first to ask begins an exchange and the rest wait for it`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    for _ in 0..<5 {
      guard case .wait(id, Self.start + .seconds(10), false, true) = cache.request(0, now: Self.start) else {
        Issue.record("not shared")
        return
      }
    }
    #expect(cache.exchanges.count == 1)
  }

  @Test func `scopes do not wait for each other`() throws {
    let cache = cache()
    let other = cache.add(scope: "t")
    let first = try begun(cache.request(0, now: Self.start))
    let second = try begun(cache.request(other, now: Self.start))
    #expect(first != second)
    _ = cache.finished(
      first, .success(token(Self.start, lifetime: .seconds(600))), waiters: 1, now: Self.start, unit: 0)
    #expect(cache.hit(0, now: Self.start) != nil)
    #expect(cache.hit(other, now: Self.start) == nil)
  }

  @Test func `a token of 600 s is vended for 480 s and not a nanosecond longer`() throws {
    let cache = try filled()
    let last = Self.start + .seconds(480)
    #expect(cache.hit(0, now: last) != nil)
    #expect(cache.hit(0, now: last + .nanoseconds(1)) == nil)
  }

  @Test func `a short token is vended for half its life`() throws {
    let cache = try filled(lifetime: .seconds(4))
    #expect(cache.hit(0, now: Self.start + .seconds(2)) != nil)
    #expect(cache.hit(0, now: Self.start + .seconds(2) + .nanoseconds(1)) == nil)
  }

  @Test func `even with nothing to remain a token is never vended as it expires`() throws {
    let cache = cache(TokenPolicy(minRemaining: .zero))
    let id = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(
      id, .success(token(Self.start, lifetime: .seconds(10))), waiters: 1, now: Self.start, unit: 0)
    #expect(cache.hit(0, now: Self.start + .seconds(10) - .nanoseconds(1)) != nil)
    #expect(cache.hit(0, now: Self.start + .seconds(10)) == nil)
  }

  @Test func `a token of unknown life goes to those who wait and is not kept`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    let done = cache.finished(
      id, .success(token(Self.start, lifetime: nil)), waiters: 3, now: Self.start, unit: 0)
    #expect(done?.token != nil)
    #expect(done?.timer == nil)
    #expect(cache.hit(0, now: Self.start) == nil)
    _ = try begun(cache.request(0, now: Self.start))
  }

  @Test func `a renewal that brings a token of unknown life leaves the old one in service`() throws {
    let cache = try filled(unit: 0)
    let due = Self.start + .seconds(300)
    guard case .begin(let id) = cache.renewalDue(0, now: due) else { throw NeverHappened() }
    let done = cache.finished(id, .success(token(due, lifetime: nil)), waiters: 0, now: due, unit: 0)
    #expect(done?.timer == due + .seconds(5))
    #expect(cache.hit(0, now: due)?.token.lifetime == .seconds(600))
    #expect(cache.hit(0, now: due)?.renewal == nil)
  }

  @Test func `a reply that took half the token's life is of no use`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    let done = cache.finished(
      id, .success(token(Self.start, lifetime: .seconds(4))), waiters: 1, now: Self.start + .seconds(3),
      unit: 0)
    guard case .failure(.exchangeFailed(.unusableReply(.late), _)) = done?.result else {
      Issue.record("vended")
      return
    }
  }

  // MARK: Renewal

  @Test func `a token in use is renewed at its time, by the timer`() throws {
    for unit in [0, 0.25, 0.75] {
      let cache = try filled(unit: unit)
      let due = Self.start + .seconds(300 + 180 * unit)
      guard case .sleep(due) = cache.renewalDue(0, now: due - .nanoseconds(1)) else { throw NeverHappened() }
      guard case .begin = cache.renewalDue(0, now: due) else { throw NeverHappened() }
      guard case .rest = cache.renewalDue(0, now: due) else { throw NeverHappened() }
      // Meanwhile it is vended as before.
      #expect(cache.hit(0, now: due) != nil)
    }
  }

  @Test func `a token whose half life ends vending is renewed then, ahead of the next request`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(
      id, .success(token(Self.start, lifetime: .seconds(8))), waiters: 1, now: Self.start, unit: 0.9)
    let due = Self.start + .seconds(4)
    #expect(cache.hit(0, now: due - .nanoseconds(1)) != nil)
    // The timer fires a little late, as timers do.
    guard case .begin = cache.renewalDue(0, now: due + .milliseconds(1)) else { throw NeverHappened() }
    // Requests that come meanwhile wait for that exchange.
    guard case .wait(_, _, begin: false, _) = cache.request(0, now: due + .milliseconds(2)) else {
      throw NeverHappened()
    }
  }

  @Test func `an unused token is not renewed before a request`() throws {
    let cache = try filled(unit: 0, waiters: 0)
    let due = Self.start + .seconds(300)
    guard case .rest = cache.renewalDue(0, now: due) else { throw NeverHappened() }
    #expect(cache.exchanges.isEmpty)
    let hit = try #require(cache.hit(0, now: due + .seconds(20)))
    #expect(hit.renewal != nil)
    #expect(cache.hit(0, now: due + .seconds(20))?.renewal == nil)
  }

  @Test func `a renewed token starts unused`() throws {
    let cache = try filled(unit: 0)
    let due = Self.start + .seconds(300)
    guard case .begin(let id) = cache.renewalDue(0, now: due) else { throw NeverHappened() }
    let done = cache.finished(
      id, .success(token(due, lifetime: .seconds(600))), waiters: 0, now: due, unit: 0)
    #expect(done?.timer == due + .seconds(300))
    guard case .rest = cache.renewalDue(0, now: due + .seconds(300)) else { throw NeverHappened() }
  }

  @Test func `a renewal that fails leaves the token in service, and is tried after the cool-down`() throws {
    let cache = try filled(unit: 0)
    let due = Self.start + .seconds(300)
    guard case .begin(let id) = cache.renewalDue(0, now: due) else { throw NeverHappened() }
    let done = cache.finished(id, .failure(.refused(status: 401, code: nil)), waiters: 0, now: due, unit: 0)
    #expect(done?.timer == due + .seconds(30))
    let hit = try #require(cache.hit(0, now: due + .seconds(29)))
    #expect(hit.renewal == nil)
    guard case .begin = cache.renewalDue(0, now: due + .seconds(30)) else { throw NeverHappened() }
  }

  @Test func `when renewals fail to the end the token ends with an error and a wait`() throws {
    let cache = try filled(unit: 0)
    var now = Self.start + .seconds(300)
    var attempts = 0
    while case .begin(let id) = cache.renewalDue(0, now: now) {
      attempts += 1
      let failed = cache.finished(
        id, .failure(.unavailable(status: 503, retryAfter: nil)), waiters: 0, now: now, unit: 0)
      guard let next = failed?.timer else { break }
      #expect(cache.hit(0, now: now) != nil)
      now = next
    }
    // 0.5, 1, 2, 4, 8, 16 and then every 20 s until 480 s.
    #expect(attempts == 14)
    #expect(cache.hit(0, now: Self.start + .seconds(480)) != nil)
    #expect(cache.hit(0, now: Self.start + .seconds(481)) == nil)
    guard case .fail(.coolingDown(.unavailable, let wait)) = cache.request(0, now: Self.start + .seconds(481))
    else { throw NeverHappened() }
    #expect(wait > .zero && wait <= .seconds(30))
  }

  @Test func `a renewal waits for another scope's outage`() throws {
    let cache = try filled(unit: 0)
    let other = cache.add(scope: "t")
    let due = Self.start + .seconds(300)
    let id = try begun(cache.request(other, now: due - .seconds(1)))
    _ = cache.finished(
      id, .failure(.rateLimited(retryAfter: .seconds(20))), waiters: 1, now: due - .seconds(1), unit: 0)
    guard case .sleep(until: due + .seconds(19)) = cache.renewalDue(0, now: due) else {
      throw NeverHappened()
    }
    #expect(cache.hit(0, now: due)?.renewal == nil)
    #expect(cache.hit(0, now: due + .seconds(19))?.renewal != nil)
  }

  // MARK: Cool-down

  @Test func `no request is sent during a cool-down, and every caller gets its length`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    let done = cache.finished(
      id, .failure(.rateLimited(retryAfter: .seconds(5))), waiters: 1, now: Self.start, unit: 0)
    guard case .failure(let failure) = done?.result else { throw NeverHappened() }
    #expect(failure.retryAfter == .seconds(5))
    guard case .fail(let error) = cache.request(0, now: Self.start + .seconds(2)),
      case .coolingDown(.rateLimited, .seconds(3)) = error
    else { throw NeverHappened() }
    _ = try begun(cache.request(0, now: Self.start + .seconds(5)))
  }

  @Test func `a refused credential of one scope does not stop another, a rate limit does`() throws {
    let cache = cache()
    let other = cache.add(scope: "t")
    var id = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(
      id, .failure(.refused(status: 400, code: "invalid_scope")), waiters: 1, now: Self.start, unit: 0)
    id = try begun(cache.request(other, now: Self.start))
    _ = cache.finished(id, .failure(.rateLimited(retryAfter: nil)), waiters: 1, now: Self.start, unit: 0)
    guard case .fail(.coolingDown(.refused, .seconds(30))) = cache.request(0, now: Self.start),
      case .fail(.coolingDown(.rateLimited, .seconds(5))) = cache.request(other, now: Self.start)
    else { throw NeverHappened() }
  }

  @Test func `all cool-downs end together where the sandbox says so`() throws {
    let cache = cache()
    let other = cache.add(scope: "t")
    var id = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(id, .failure(.refused(status: 401, code: nil)), waiters: 1, now: Self.start, unit: 0)
    id = try begun(cache.request(other, now: Self.start))
    _ = cache.finished(id, .failure(.rateLimited(retryAfter: nil)), waiters: 1, now: Self.start, unit: 0)
    guard case .fail(.coolingDown) = cache.request(0, now: Self.start) else { throw NeverHappened() }
    cache.endCoolDowns()
    _ = try begun(cache.request(0, now: Self.start))
    _ = try begun(cache.request(other, now: Self.start))
  }

  @Test func `a changed credential ends its cool-down, and a changed policy keeps what it is told to keep`()
    throws
  {
    let cache = try filled()
    let other = cache.add(scope: "t")
    let id = try begun(cache.request(other, now: Self.start))
    _ = cache.finished(
      id, .failure(.refused(status: 401, code: nil)), waiters: 1, now: Self.start, unit: 0)
    cache.reconfigure(policy: TokenPolicy(minRemaining: .seconds(60))) { _ in true }
    guard case .fail(.coolingDown(.refused, _)) = cache.request(other, now: Self.start) else {
      throw NeverHappened()
    }
    cache.changeCredential()
    _ = try begun(cache.request(other, now: Self.start))
    // The token is kept, and the new policy vends it for longer.
    #expect(cache.hit(0, now: Self.start + .seconds(540)) != nil)
    cache.reconfigure(policy: TokenPolicy()) { _ in false }
    #expect(cache.hit(0, now: Self.start) == nil)
  }

  @Test func `an exchange continues for everyone if only the policy has changed`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    cache.reconfigure(policy: TokenPolicy(minRemaining: .seconds(60))) { _ in true }
    guard case .wait(id, _, false, _) = cache.request(0, now: Self.start) else { throw NeverHappened() }
    _ = cache.finished(
      id, .success(token(Self.start, lifetime: .seconds(600))), waiters: 2, now: Self.start, unit: 0)
    #expect(cache.hit(0, now: Self.start) != nil)
  }

  @Test func `an exchange from before a change of credential answers only its waiters`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    cache.changeCredential()
    let fresh = try begun(cache.request(0, now: Self.start))
    let done = cache.finished(
      id, .success(token(Self.start, lifetime: .seconds(600))), waiters: 1, now: Self.start, unit: 0)
    #expect(done?.token != nil)
    #expect(cache.hit(0, now: Self.start) == nil)
    guard case .wait(fresh, _, false, _) = cache.request(0, now: Self.start) else { throw NeverHappened() }
  }

  @Test func `a changed credential keeps the cool-downs that Talkdesk ID demanded, and a move ends them`()
    throws
  {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(id, .failure(.rateLimited(retryAfter: nil)), waiters: 1, now: Self.start, unit: 0)
    cache.changeCredential()
    guard case .fail(.coolingDown(.rateLimited, _)) = cache.request(0, now: Self.start) else {
      throw NeverHappened()
    }
    #expect(cache.moveAccount().isEmpty)
    _ = try begun(cache.request(0, now: Self.start))
  }

  @Test(arguments: [false, true])
  func `a pause that answers an exchange from before a change holds for the same account`(moves: Bool) throws
  {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    if moves { _ = cache.moveAccount() } else { cache.changeCredential() }
    _ = cache.finished(
      id, .failure(.rateLimited(retryAfter: .seconds(20))), waiters: 1, now: Self.start, unit: 0)
    switch (moves, cache.request(0, now: Self.start)) {
    case (false, .fail(.coolingDown(.rateLimited, _))), (true, .wait(_, _, begin: true, _)): break
    default: throw NeverHappened()
    }
  }

  @Test func `a refusal of the credential before says nothing about the one of now`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    cache.changeCredential()
    _ = cache.finished(id, .failure(.refused(status: 401, code: nil)), waiters: 1, now: Self.start, unit: 0)
    _ = try begun(cache.request(0, now: Self.start))
  }

  @Test func `a move ends exchanges that wait for their turn, and no later turn begins them`() throws {
    let cache = cache(TokenPolicy(share: false, separateExchanges: 1))
    let running = try begun(cache.request(0, now: Self.start))
    guard case .waitForTurn(let waiting, _, _) = cache.request(0, now: Self.start) else {
      throw NeverHappened()
    }
    #expect(cache.moveAccount() == [waiting])
    let done = cache.finished(
      running, .success(token(Self.start, lifetime: .seconds(600))), waiters: 1, now: Self.start, unit: 0)
    #expect(done?.begin == [])
    #expect(done?.token != nil)
  }

  @Test func `a renewal that this server had no place for is put off`() throws {
    let cache = try filled()
    let now = Self.start + .seconds(475)
    guard let renewal = cache.hit(0, now: now)?.renewal else { throw NeverHappened() }
    let refusal = TransportError(.overloaded, sent: false, detail: "no place", retryAfter: .seconds(3))
    let done = cache.finished(renewal, .failure(.transport(refusal)), waiters: 0, now: now, unit: 0)
    #expect(done?.timer == now + .seconds(3))
    #expect(cache.hit(0, now: now + .seconds(1))?.renewal == nil)
    #expect(cache.hit(0, now: now + .seconds(3))?.renewal != nil)
  }

  // MARK: Refused by the API

  @Test func `only the current token is given up`() throws {
    let cache = try filled()
    let current = try #require(cache.hit(0, now: Self.start)?.token)
    let older = token(Self.start, lifetime: .seconds(600))
    #expect(cache.invalidate(older, scope: 0, now: Self.start))
    #expect(cache.hit(0, now: Self.start)?.token === current)
    #expect(cache.invalidate(current, scope: 0, now: Self.start))
    #expect(cache.hit(0, now: Self.start) == nil)
    _ = try begun(cache.request(0, now: Self.start))
  }

  @Test func `an API that refuses every token causes eight exchanges, then one in five seconds`() throws {
    let cache = cache()
    var now = Self.start
    func refresh() throws -> Bool {
      if cache.hit(0, now: now) == nil {
        let id = try begun(cache.request(0, now: now))
        _ = cache.finished(
          id, .success(token(now, lifetime: .seconds(600))), waiters: 1, now: now, unit: 0)
      }
      let current = try #require(cache.hit(0, now: now)?.token)
      return cache.invalidate(current, scope: 0, now: now)
    }
    for _ in 0..<8 { #expect(try refresh()) }
    #expect(try !refresh())
    #expect(cache.hit(0, now: now) != nil)
    now = now + .seconds(5)
    #expect(try refresh())
    #expect(try !refresh())
    // The API accepts a token after all.
    cache.accepted(0)
    for _ in 0..<8 { #expect(try refresh()) }
    #expect(try !refresh())
  }

  // MARK: Not shared

  @Test func `separate exchanges are bounded and take turns`() throws {
    let cache = cache(TokenPolicy(share: false, separateExchanges: 2))
    let first = try begun(cache.request(0, now: Self.start))
    _ = try begun(cache.request(0, now: Self.start))
    var waiting: [TokenCache.ExchangeID] = []
    for _ in 0..<3 {
      guard case .waitForTurn(let id, _, _) = cache.request(0, now: Self.start) else {
        throw NeverHappened()
      }
      waiting.append(id)
    }
    #expect(!cache.abandoned(waiting[0]))
    #expect(cache.abandoned(first))
    let done = cache.finished(
      first, .success(token(Self.start, lifetime: .seconds(600))), waiters: 1, now: Self.start, unit: 0)
    #expect(done?.begin == [waiting[1]])
    #expect(cache.hit(0, now: Self.start) == nil)
    let failed = cache.finished(
      waiting[1], .failure(.rateLimited(retryAfter: .seconds(3))), waiters: 1, now: Self.start, unit: 0)
    #expect(failed?.begin == [])
    #expect(failed?.refuse.map(\.0) == [waiting[2]])
  }

  @Test
  func `an exchange whose turn comes too late does not take place, and who would come too late is told`()
    throws
  {
    let cache = cache(TokenPolicy(share: false, separateExchanges: 1))
    let four = Self.start + .seconds(4)
    let first = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(
      first, .success(token(Self.start, lifetime: .seconds(600))), waiters: 1, now: four, unit: 0)
    // An exchange takes four seconds, so the third would end after twelve.
    let second = try begun(cache.request(0, now: four))
    guard case .waitForTurn(let third, let until, let deadline) = cache.requestProbe(0, now: four),
      case .fail(.overloaded(let wait)) = cache.request(0, now: four)
    else { throw NeverHappened() }
    #expect(until == four + .seconds(6) && deadline == four + .seconds(10))
    #expect(wait == .seconds(3))
    #expect(cache.missedTurn(second, now: until) == nil, "it has begun")
    let done = cache.finished(
      second, .success(token(four, lifetime: .seconds(600))), waiters: 1, now: four + .seconds(9), unit: 0)
    #expect(done?.begin == [])
    guard let (late, error) = done?.refuse.first, late == third, case .overloaded = error else {
      throw NeverHappened()
    }
    #expect(cache.exchanges.isEmpty)
    // A refused exchange does not answer later probes.
    #expect(try begun(cache.requestProbe(0, now: four + .seconds(9))) != third)
  }

  @Test func `an exchange that misses its turn is out, once`() throws {
    let cache = cache(TokenPolicy(share: false, separateExchanges: 1))
    _ = try begun(cache.request(0, now: Self.start))
    guard case .waitForTurn(let second, let until, _) = cache.request(0, now: Self.start),
      case .overloaded(let wait)? = cache.missedTurn(second, now: until)
    else { throw NeverHappened() }
    #expect(wait == .milliseconds(20_250), "nine seconds are what one takes at least")
    #expect(cache.missedTurn(second, now: until) == nil)
    #expect(cache.exchanges.count == 1)
  }

  @Test func `a time-out counts as an outage only where the exchange had all its time`() throws {
    let cache = cache(TokenPolicy(share: false, separateExchanges: 1))
    let first = try begun(cache.request(0, now: Self.start))
    guard case .waitForTurn(let second, _, _) = cache.request(0, now: Self.start) else {
      throw NeverHappened()
    }
    let token = token(Self.start, lifetime: .seconds(600))
    let done = cache.finished(first, .success(token), waiters: 1, now: Self.start + .seconds(1), unit: 0)
    #expect(done?.begin == [second])
    _ = cache.finished(
      second, .failure(.timedOut(sent: true)), waiters: 1, now: Self.start + .seconds(10), unit: 0)
    #expect(cache.outage.failures == 0)
    let third = try begun(cache.request(0, now: Self.start + .seconds(10)))
    _ = cache.finished(
      third, .failure(.timedOut(sent: true)), waiters: 1, now: Self.start + .seconds(20), unit: 0)
    #expect(cache.outage.failures == 1)
  }

  @Test func `an exchange that this process had no room for is overload, and no outage`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    let error = TransportError(.overloaded, sent: false, detail: "", retryAfter: .seconds(7))
    let done = cache.finished(id, .failure(.transport(error)), waiters: 1, now: Self.start, unit: 0)
    guard case .failure(.overloaded(.seconds(7))) = done?.result else { throw NeverHappened() }
    #expect(cache.outage.failures == 0)
    _ = try begun(cache.request(0, now: Self.start))
  }

  /// Talkdesk ID takes a second per exchange and runs sixteen at once. More is requested, for any length of
  /// time.
  @Test(arguments: [24, 32, 160]) func `more than Talkdesk ID can serve costs nothing of what it can`(
    perSecond: Int
  ) throws {
    let cache = cache(TokenPolicy(share: false))
    var running: [(id: TokenCache.ExchangeID, end: MonotonicTime, deadline: MonotonicTime)] = []
    var deadlines: [TokenCache.ExchangeID: MonotonicTime] = [:]
    var succeeded = [Int](repeating: 0, count: 60)
    var now = Self.start
    func begin(_ id: TokenCache.ExchangeID, _ deadline: MonotonicTime) {
      let end = min(now + .seconds(1), deadline)
      running.insert((id, end, deadline), at: running.firstIndex { $0.end > end } ?? running.count)
    }
    for number in 0..<(60 * perSecond) {
      let arrival = Self.start + .nanoseconds(Int64(number) * 1_000_000_000 / Int64(perSecond))
      while let run = running.first, run.end <= arrival {
        running.removeFirst()
        now = run.end
        var result: Result<AccessToken, TokenExchangeError> = .failure(.timedOut(sent: true))
        if run.end < run.deadline {
          result = .success(token(now, lifetime: .seconds(600)))
          succeeded[Int((now - Self.start).components.seconds)] += 1
        }
        let done = try #require(cache.finished(run.id, result, waiters: 1, now: now, unit: 0))
        for id in done.begin { begin(id, try #require(deadlines[id])) }
      }
      now = arrival
      switch cache.request(0, now: now) {
      case .wait(let id, let deadline, _, _): begin(id, deadline)
      case .waitForTurn(let id, _, let deadline): deadlines[id] = deadline
      case .fail(.overloaded): break
      case .fail(let error): Issue.record("\(error)")
      }
    }
    for second in 2..<60 { #expect(succeeded[second] >= 13, "of 16, in second \(second)") }
    #expect(cache.outage.failures == 0)
  }

  @Test func `a token that was had answers probes for a minute, and no longer than none is refused`() throws {
    let cache = cache(TokenPolicy(share: false))
    let first = try begun(cache.requestProbe(0, now: Self.start))
    // Probes that come meanwhile wait for the exchange, and token requests do not.
    guard case .wait(let joined, _, false, false) = cache.requestProbe(0, now: Self.start), joined == first
    else { throw NeverHappened() }
    #expect(try begun(cache.request(0, now: Self.start)) != first)
    #expect(!cache.isProven(0, now: Self.start))
    let token = token(Self.start, lifetime: .seconds(600))
    _ = cache.finished(first, .success(token), waiters: 2, now: Self.start + .seconds(1), unit: 0)
    #expect(cache.hit(0, now: Self.start + .seconds(1)) == nil)
    #expect(cache.isProven(0, now: Self.start + .seconds(59)))
    #expect(!cache.isProven(0, now: Self.start + .seconds(60)))
    // An abandoned exchange does not answer later probes.
    let second = try begun(cache.requestProbe(0, now: Self.start + .seconds(60)))
    #expect(cache.abandoned(second))
    #expect(try begun(cache.requestProbe(0, now: Self.start + .seconds(60))) != second)
  }

  @Test func `a later failure ends the proof`() throws {
    let cache = cache(TokenPolicy(share: false))
    let first = try begun(cache.request(0, now: Self.start))
    let token = token(Self.start, lifetime: .seconds(600))
    _ = cache.finished(first, .success(token), waiters: 1, now: Self.start, unit: 0)
    #expect(cache.isProven(0, now: Self.start))
    let second = try begun(cache.request(0, now: Self.start))
    _ = cache.finished(second, .failure(.timedOut(sent: true)), waiters: 1, now: Self.start, unit: 0)
    #expect(!cache.isProven(0, now: Self.start + .seconds(30)))
    guard case .fail(.coolingDown) = cache.requestProbe(0, now: Self.start) else { throw NeverHappened() }
  }

  @Test func `the end of an exchange counts once`() throws {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    #expect(cache.finished(id, .failure(.timedOut(sent: true)), waiters: 1, now: Self.start, unit: 0) != nil)
    #expect(cache.finished(id, .failure(.timedOut(sent: true)), waiters: 1, now: Self.start, unit: 0) == nil)
    #expect(cache.outage.failures == 1)
  }
}
