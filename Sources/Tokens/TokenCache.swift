// Decides which token may be vended and when to request a new one, as a state machine without clock or I/O.

import HTTP
import Platform

/// The decisions of the token source: which token may be vended, when to request one from Talkdesk ID, and
/// when to pause.
///
/// A state machine: it takes events with their time, and returns actions. It reads no clock, draws no random
/// number and does no I/O, so that a test can step through a day.
struct TokenCache {
  /// The size of a burst of forced refreshes, and the time until one more is allowed. Without this limit, an
  /// API that refuses every token would turn each of our requests into an exchange.
  static let forcedRefreshBurst = 8
  static let forcedRefreshInterval = Duration.seconds(5)

  private(set) var policy: TokenPolicy
  private(set) var entries: [Entry] = []
  private(set) var exchanges: [ExchangeID: Exchange] = [:]
  /// Cool-downs of all scopes, because all have one provider.
  private(set) var rateLimit = Cooldown()
  private(set) var outage = Cooldown()
  /// The queue of the exchanges if tokens are not shared.
  private var turns: AdmissionQueue<ExchangeID>
  /// The version of the endpoint and credentials: counts from 0, one more with each change.
  private(set) var epoch = 0
  /// The version of the account: counts from 0, one more with each move to another account.
  private(set) var account = 0
  private var lastExchange: UInt64 = 0

  init(policy: TokenPolicy) {
    self.policy = policy
    turns = AdmissionQueue(.init(running: policy.separateExchanges, waiting: Self.mostWaiting))
  }

  /// The maximum number of exchanges that wait for their turn if tokens are not shared.
  static let mostWaiting = 4096

  /// The time for which a successful exchange answers probes if tokens are not shared. However many probes
  /// arrive, they cost at most one successful exchange in this time.
  static let proofLifetime = Duration.seconds(60)

  // MARK: Vending

  /// Adds a scope, and returns its index.
  mutating func add(scope: String) -> Int {
    entries.append(Entry(scope: scope))
    return entries.count - 1
  }

  /// The token, if it may be vended now, and its renewal, if that is due. Allocates nothing unless a renewal
  /// starts.
  mutating func hit(_ scope: Int, now: MonotonicTime) -> (token: AccessToken, renewal: ExchangeID?)? {
    guard let token = entries[scope].token, now <= entries[scope].vendableUntil else { return nil }
    if !entries[scope].isUsed { entries[scope].isUsed = true }
    guard now >= entries[scope].renewAt, entries[scope].flight == nil else { return (token, nil) }
    return (token, renew(scope, now: now))
  }

  /// Requests a token after `hit` found none.
  mutating func request(_ scope: Int, now: MonotonicTime) -> Answer {
    guard policy.share else { return requestSeparately(scope, now: now) }
    if let flight = entries[scope].flight, let exchange = exchanges[flight] {
      return .wait(flight, deadline: exchange.deadline, begin: false, isShared: true)
    }
    if let (cause, rest) = coolingDown(scope, now: now) {
      return .fail(.coolingDown(cause: cause, retryAfter: rest))
    }
    let id = begin(scope, now: now)
    return .wait(id, deadline: now + policy.deadline, begin: true, isShared: true)
  }

  /// Whether a recent exchange proves that the scope gets tokens, if tokens are not shared and `hit` has
  /// none. False during a cool-down.
  func isProven(_ scope: Int, now: MonotonicTime) -> Bool {
    now < entries[scope].provenUntil && coolingDown(scope, now: now) == nil
  }

  /// Requests a token that no client gets. If tokens are shared, this is a request like others, and the cache
  /// stores its token. If they are not, probes at the same time share one exchange.
  mutating func requestProbe(_ scope: Int, now: MonotonicTime) -> Answer {
    guard !policy.share else { return request(scope, now: now) }
    if let probing = entries[scope].probing, let exchange = exchanges[probing] {
      return .wait(probing, deadline: exchange.deadline, begin: false, isShared: false)
    }
    let answer = requestSeparately(scope, now: now)
    switch answer {
    case .wait(let id, _, _, _), .waitForTurn(let id, _, _): entries[scope].probing = id
    case .fail: break
    }
    return answer
  }

  /// Drops a token that the API refused, so that the next request gets another.
  ///
  /// - Returns: whether another request may get another token: false if forced refreshes come too often.
  mutating func invalidate(_ token: AccessToken, scope: Int, now: MonotonicTime) -> Bool {
    guard entries[scope].token === token else { return true }
    let slack = Self.forcedRefreshInterval * (Self.forcedRefreshBurst - 1)
    guard entries[scope].forcedRefreshes <= now + slack else { return false }
    entries[scope].forcedRefreshes = max(entries[scope].forcedRefreshes, now) + Self.forcedRefreshInterval
    forget(scope)
    return true
  }

  /// Records that the API accepted a token after `invalidate`. The API does not refuse every token, so the
  /// count of forced refreshes starts again.
  mutating func accepted(_ scope: Int) { entries[scope].forcedRefreshes = MonotonicTime(nanoseconds: .min) }

  // MARK: Exchanges

  /// Handles the end of an exchange.
  ///
  /// - Parameters:
  ///   - waiters: how many requests get its result.
  ///   - unit: a random number in 0..<1.
  /// - Returns: nil if the exchange is unknown or has already ended.
  mutating func finished(
    _ id: ExchangeID, _ result: Result<AccessToken, TokenExchangeError>, waiters: Int, now: MonotonicTime,
    unit: Double
  ) -> Completion? {
    guard let exchange = exchanges.removeValue(forKey: id) else { return nil }
    if entries[exchange.scope].flight == id { entries[exchange.scope].flight = nil }
    if entries[exchange.scope].probing == id { entries[exchange.scope].probing = nil }
    var completion: Completion
    switch result {
    case .success(let token):
      completion = succeeded(token, exchange, waiters: waiters, now: now, unit: unit)
    case .failure(let error):
      completion = failed(error, exchange, now: now, unit: unit)
    }
    if !exchange.isShared {
      turns.leave(id, Self.ending(result), now: now)
      advance(&completion, now: now)
    }
    return completion
  }

  /// Handles an exchange for which no request waits any longer. A shared exchange continues.
  ///
  /// - Returns: True if the exchange is unshared and running. Cancel it, and report its end to `finished` as
  ///   usual.
  mutating func abandoned(_ id: ExchangeID) -> Bool {
    guard let exchange = exchanges[id], !exchange.isShared else { return false }
    // The next probe must not wait for a canceled exchange.
    if entries[exchange.scope].probing == id { entries[exchange.scope].probing = nil }
    guard turns.abandon(id) else { return true }
    exchanges[id] = nil
    return false
  }

  /// Handles an exchange whose turn did not come in time.
  ///
  /// - Returns: The error for the requests that wait; nil if its turn came after all.
  mutating func missedTurn(_ id: ExchangeID, now: MonotonicTime) -> TokenError? {
    guard turns.abandon(id) else { return nil }
    drop(id)
    return .overloaded(retryAfter: turns.retryAfterLate(now: now))
  }

  /// Handles a scope's renewal timer.
  mutating func renewalDue(_ scope: Int, now: MonotonicTime) -> Renewal {
    // Compares with the expiration, not with `vendableUntil`: for a token with a short life, vending ends at
    // half its life, which is also when it is due for renewal.
    guard let token = entries[scope].token, entries[scope].flight == nil,
      token.expiresAt.map({ now < $0 }) ?? false
    else { return .rest }
    let rest = entries[scope].renewAt - now
    guard rest <= .zero else { return .sleep(until: now + rest) }
    // An unused token is not renewed. The next request that gets it finds the renewal overdue.
    guard entries[scope].isUsed else { return .rest }
    guard let id = renew(scope, now: now) else { return .sleep(until: now + (entries[scope].renewAt - now)) }
    return .begin(id)
  }

  /// Switches to another credential. The credential's cool-downs end; those for Talkdesk ID's rate limit and
  /// outages continue. Running exchanges still answer the requests that wait for them, and no others.
  mutating func changeCredential() {
    epoch += 1
    for scope in entries.indices {
      entries[scope].credential = Cooldown()
      entries[scope].flight = nil
      entries[scope].probing = nil
      entries[scope].provenUntil = .past
    }
  }

  /// Switches to another account. Every cool-down ends.
  ///
  /// - Returns: the exchanges that waited for their turn. They must not start, because their requests may
  ///   want a token of the old account.
  mutating func moveAccount() -> [ExchangeID] {
    account += 1
    rateLimit = Cooldown()
    outage = Cooldown()
    changeCredential()
    let waiting = turns.removeAllWaiting()
    for id in waiting { drop(id) }
    return waiting
  }

  /// Ends every cool-down. A running exchange may start another.
  mutating func endCoolDowns() {
    rateLimit = Cooldown()
    outage = Cooldown()
    for scope in entries.indices { entries[scope].credential = Cooldown() }
  }

  /// Applies a new policy, and drops the tokens that `keeping` or the policy does not keep. Cool-downs
  /// continue, because a new policy does not end their causes.
  mutating func reconfigure(policy: TokenPolicy, keeping: (AccessToken) -> Bool) {
    self.policy = policy
    turns.limits.running = policy.separateExchanges
    for scope in entries.indices {
      guard let token = entries[scope].token else { continue }
      if policy.share, keeping(token), let until = lastVend(of: token) {
        entries[scope].vendableUntil = until
      } else {
        forget(scope)
      }
    }
  }

  /// The active cool-down of a scope that lasts longest; nil if none is active.
  func coolingDown(
    _ scope: Int, now: MonotonicTime
  ) -> (cause: TokenExchangeError, remaining: Duration)? {
    let all = [rateLimit.rest(at: now), outage.rest(at: now), entries[scope].credential.rest(at: now)]
    return all.compactMap { $0 }.max { $0.remaining < $1.remaining }
  }

  // MARK: Inside

  private mutating func requestSeparately(_ scope: Int, now: MonotonicTime) -> Answer {
    if let (cause, rest) = coolingDown(scope, now: now) {
      return .fail(.coolingDown(cause: cause, retryAfter: rest))
    }
    let id = nextID()
    let deadline = now + policy.deadline
    exchanges[id] = Exchange(
      scope: scope, startedAt: now, deadline: deadline, isShared: false, epoch: epoch,
      account: account)
    switch turns.enter(id, deadline: deadline, now: now) {
    case .starts: return .wait(id, deadline: deadline, begin: true, isShared: false)
    case .waits(let until): return .waitForTurn(id, until: until, deadline: deadline)
    case .refused(let wait):
      exchanges[id] = nil
      return .fail(.overloaded(retryAfter: wait))
    }
  }

  /// Starts a renewal. During a cool-down, postpones it until that ends, and returns nil.
  private mutating func renew(_ scope: Int, now: MonotonicTime) -> ExchangeID? {
    if let (_, rest) = coolingDown(scope, now: now) {
      entries[scope].renewAt = Expiry(now + rest)
      return nil
    }
    return begin(scope, now: now)
  }

  private mutating func begin(_ scope: Int, now: MonotonicTime) -> ExchangeID {
    let id = nextID()
    exchanges[id] = Exchange(
      scope: scope, startedAt: now, deadline: now + policy.deadline, isShared: true, epoch: epoch,
      account: account)
    entries[scope].flight = id
    return id
  }

  private mutating func nextID() -> ExchangeID {
    lastExchange += 1
    return ExchangeID(number: lastExchange)
  }

  private mutating func succeeded(
    _ token: AccessToken, _ exchange: Exchange, waiters: Int, now: MonotonicTime, unit: Double
  ) -> Completion {
    guard exchange.epoch == epoch else { return Completion(result: .success(token)) }
    let until = lastVend(of: token)
    if let until, !(now <= until) {
      return failed(.unusableReply(.late), exchange, now: now, unit: unit)
    }
    rateLimit.succeed(startedAt: exchange.startedAt)
    outage.succeed(startedAt: exchange.startedAt)
    entries[exchange.scope].credential.succeed(startedAt: exchange.startedAt)
    var completion = Completion(result: .success(token))
    guard exchange.isShared, policy.share else {
      entries[exchange.scope].provenUntil = Expiry(exchange.startedAt + Self.proofLifetime)
      return completion
    }
    guard let lifetime = token.lifetime, let until else {
      // The token's lifetime is unknown, so the token goes to the requests that wait and is not stored. An
      // older token stays, and is not renewed again at once.
      if entries[exchange.scope].token != nil {
        let renewAt = now + .seconds(5 * (1 + unit))
        entries[exchange.scope].renewAt = Expiry(renewAt)
        completion.timer = renewAt
      }
      return completion
    }
    entries[exchange.scope].token = token
    entries[exchange.scope].vendableUntil = until
    entries[exchange.scope].isUsed = waiters > 0
    let renewAt = token.obtainedAt + policy.renewalAge(of: lifetime, unit: unit)
    entries[exchange.scope].renewAt = Expiry(renewAt)
    completion.timer = renewAt
    return completion
  }

  private mutating func failed(
    _ error: TokenExchangeError, _ exchange: Exchange, now: MonotonicTime, unit: Double
  ) -> Completion {
    guard exchange.epoch == epoch else { return outdated(error, exchange, now: now, unit: unit) }
    let scope = exchange.scope
    if case .transport(let failure) = error, failure.reason == .overloaded {
      let wait = failure.retryAfter ?? .seconds(1)
      return putOff(scope, by: wait, .overloaded(retryAfter: wait), now: now)
    }
    entries[scope].provenUntil = .past
    switch exchange.isCurtailed && error.isTimeout ? nil : Cooldown.kind(of: error) {
    case .credential:
      entries[scope].credential.record(error, startedAt: exchange.startedAt, now: now, unit: unit)
    case .rateLimit: rateLimit.record(error, startedAt: exchange.startedAt, now: now, unit: unit)
    case .outage: outage.record(error, startedAt: exchange.startedAt, now: now, unit: unit)
    case nil: break
    }
    let rest = coolingDown(scope, now: now)?.remaining ?? .seconds(1)
    return putOff(scope, by: rest, .exchangeFailed(error, retryAfter: rest), now: now)
  }

  /// Handles the failure of an exchange that started before the credential or the account changed. For the
  /// same account, a rate limit or an outage also pauses the new credential.
  private mutating func outdated(
    _ error: TokenExchangeError, _ exchange: Exchange, now: MonotonicTime, unit: Double
  ) -> Completion {
    if exchange.account == account {
      switch Cooldown.kind(of: error) {
      case .rateLimit: rateLimit.record(error, startedAt: exchange.startedAt, now: now, unit: unit)
      case .outage: outage.record(error, startedAt: exchange.startedAt, now: now, unit: unit)
      case .credential, nil: break
      }
    }
    let rest = coolingDown(exchange.scope, now: now)?.remaining ?? .seconds(1)
    return Completion(result: .failure(.exchangeFailed(error, retryAfter: rest)))
  }

  /// Postpones the renewal of the token, if the token can be vended until then.
  private mutating func putOff(
    _ scope: Int, by rest: Duration, _ error: TokenError, now: MonotonicTime
  ) -> Completion {
    var completion = Completion(result: .failure(error))
    if entries[scope].token != nil, now + rest <= entries[scope].vendableUntil {
      entries[scope].renewAt = Expiry(now + rest)
      completion.timer = now + rest
    }
    return completion
  }

  /// Starts the exchanges whose turn it is. Refuses those whose turn came too late, and those whose scope is
  /// in a cool-down.
  private mutating func advance(_ completion: inout Completion, now: MonotonicTime) {
    var admitted = turns.admit(now: now)
    while !admitted.isEmpty {
      for id in admitted.late {
        drop(id)
        completion.refuse.append((id, .overloaded(retryAfter: turns.retryAfterLate(now: now))))
      }
      for id in admitted.starts {
        guard let scope = exchanges[id]?.scope, let (cause, rest) = coolingDown(scope, now: now) else {
          exchanges[id]?.startedAt = now
          exchanges[id]?.isCurtailed = true
          exchanges[id]?.epoch = epoch
          completion.begin.append(id)
          continue
        }
        turns.leave(id, .unused, now: now)
        drop(id)
        completion.refuse.append((id, .coolingDown(cause: cause, retryAfter: rest)))
      }
      admitted = turns.admit(now: now)
    }
  }

  /// Removes an exchange that must not start.
  private mutating func drop(_ id: ExchangeID) {
    guard let exchange = exchanges.removeValue(forKey: id) else { return }
    if entries[exchange.scope].probing == id { entries[exchange.scope].probing = nil }
  }

  /// How the end of an exchange counts in the estimate of durations.
  private static func ending(
    _ result: Result<AccessToken, TokenExchangeError>
  ) -> AdmissionQueue<ExchangeID>.Ending {
    guard case .failure(let error) = result else { return .finished }
    if case .transport(let failure) = error, failure.reason == .cancelled { return .cutShort }
    return error.isTimeout ? .cutShort : .finished
  }

  private func lastVend(of token: AccessToken) -> Expiry? {
    token.vendable(withAtLeast: max(policy.minRemaining, .nanoseconds(1)))
  }

  /// Drops every token. Exchanges and cool-downs continue.
  mutating func forgetTokens() { for scope in entries.indices { forget(scope) } }

  private mutating func forget(_ scope: Int) {
    entries[scope].token = nil
    entries[scope].vendableUntil = .past
    entries[scope].renewAt = .never
    entries[scope].isUsed = false
  }
}
