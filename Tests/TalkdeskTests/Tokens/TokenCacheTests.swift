import HTTP
import Platform
import TestSupport
import Testing

@testable import Talkdesk

/// The cache by reference, so that an expectation may call what changes it.
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

  /// A cache with a token of 600 s that nobody has used but who waited for it.
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
    // A timer is never early and always a little late.
    guard case .begin = cache.renewalDue(0, now: due + .milliseconds(1)) else { throw NeverHappened() }
    // Whoever comes meanwhile waits for that one.
    guard case .wait(_, _, begin: false, _) = cache.request(0, now: due + .milliseconds(2)) else {
      throw NeverHappened()
    }
  }

  @Test func `an unused token is not renewed before somebody wants it`() throws {
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

  @Test func `nobody asks during a cool-down, and everybody hears how long it lasts`() throws {
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

  @Test func `a changed configuration ends cool-downs and keeps what it is told to keep`() throws {
    let cache = try filled()
    let other = cache.add(scope: "t")
    let id = try begun(cache.request(other, now: Self.start))
    _ = cache.finished(
      id, .failure(.refused(status: 401, code: nil)), waiters: 1, now: Self.start, unit: 0)
    cache.reconfigure(policy: TokenPolicy(minRemaining: .seconds(60))) { _ in true }
    _ = try begun(cache.request(other, now: Self.start))
    // Kept, and the new policy vends it for longer.
    #expect(cache.hit(0, now: Self.start + .seconds(540)) != nil)
    cache.reconfigure(policy: TokenPolicy()) { _ in false }
    #expect(cache.hit(0, now: Self.start) == nil)
  }

  @Test func `an exchange from before a change of configuration answers its waiters and nobody else`() throws
  {
    let cache = cache()
    let id = try begun(cache.request(0, now: Self.start))
    cache.reconfigure(policy: TokenPolicy()) { _ in true }
    let fresh = try begun(cache.request(0, now: Self.start))
    let done = cache.finished(
      id, .success(token(Self.start, lifetime: .seconds(600))), waiters: 1, now: Self.start, unit: 0)
    #expect(done?.token != nil)
    #expect(cache.hit(0, now: Self.start) == nil)
    guard case .wait(fresh, _, false, _) = cache.request(0, now: Self.start) else { throw NeverHappened() }
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
    // It takes one after all.
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
      guard case .wait(let id, _, false, false) = cache.request(0, now: Self.start) else {
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

  @Test func `a token that was had answers probes for a minute, and no longer than none is refused`() throws {
    let cache = cache(TokenPolicy(share: false))
    let first = try begun(cache.requestProbe(0, now: Self.start))
    // Those who probe meanwhile wait for it, and those who want a token do not.
    guard case .wait(let joined, _, false, false) = cache.requestProbe(0, now: Self.start), joined == first
    else { throw NeverHappened() }
    #expect(try begun(cache.request(0, now: Self.start)) != first)
    #expect(!cache.isProven(0, now: Self.start))
    let token = token(Self.start, lifetime: .seconds(600))
    _ = cache.finished(first, .success(token), waiters: 2, now: Self.start + .seconds(1), unit: 0)
    #expect(cache.hit(0, now: Self.start + .seconds(1)) == nil)
    #expect(cache.isProven(0, now: Self.start + .seconds(59)))
    #expect(!cache.isProven(0, now: Self.start + .seconds(60)))
    // One whom nobody waits for any longer is nobody's answer.
    let second = try begun(cache.requestProbe(0, now: Self.start + .seconds(60)))
    #expect(cache.abandoned(second))
    #expect(try begun(cache.requestProbe(0, now: Self.start + .seconds(60))) != second)
  }

  @Test func `what fails after it takes the proof away, whoever asked`() throws {
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
