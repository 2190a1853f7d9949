// Makes one granted callback: waits for a place, gets a token, saves the intent, sends the request and saves the outcome.

import API
import Gate
import Metrics
import Platform
import Records
package import Store
package import Talkdesk
package import Tokens

/// Carries orders out (docs/callbacks.md): never sends what may have been accepted, and keeps what became of it.
package final class Origination: Sendable {
  let originator: Originator
  let tokens: TokenSource
  let store: RetryingStore
  let ledger: AllowanceLedger
  let api: CallbackAPI
  let scope: TokenSource.ScopeID
  /// Where `api` and its tokens belong to. A reload may put another in its place while orders wait.
  let upstream: TokenSource.Upstream
  let stops: StopBoard
  let inHand: CallbacksInHand
  let clock: any TimeSource
  let log: CallbackLog
  let metrics: ServiceMetrics
  let brakes: BrakeWatch

  package init(
    _ parts: CallbackParts, tokens: TokenSource, ledger: AllowanceLedger, stops: StopBoard, api: CallbackAPI,
    scope: TokenSource.ScopeID, upstream: TokenSource.Upstream
  ) {
    originator = parts.originator
    inHand = parts.inHand
    store = parts.store
    clock = parts.clock
    log = parts.log
    metrics = parts.metrics
    brakes = parts.brakes
    self.tokens = tokens
    self.ledger = ledger
    self.stops = stops
    self.api = api
    self.scope = scope
    self.upstream = upstream
  }

  /// Carries an order out, and says what came of it once. What was taken for it is given back wherever Talkdesk certainly did
  /// not accept.
  ///
  /// No task waits for Talkdesk, whose memory would be a third of all that a waiting callback takes. Whoever waits for a place
  /// does so in a task of its own, without what the request needed before.
  package func carryOut(_ order: CallbackOrder, then: @escaping @Sendable (OriginationResult) -> Void) async {
    switch originator.turnAtOnce(order.party, deadline: order.deadline, bytes: order.content.count) {
    case .success(let turn)?: await resume(order, turn, then)
    case .failure(let refusal)?: await end(order, refusal, then)
    case nil:
      Task {
        do throws(Originator.Refusal) {
          let turn = try await originator.turn(
            order.party, deadline: order.deadline, bytes: order.content.count)
          await resume(order, turn, then)
        } catch {
          await end(order, error, then)
        }
      }
    }
  }

  private func end(
    _ order: CallbackOrder, _ refusal: Originator.Refusal, _ then: (OriginationResult) -> Void
  ) async {
    await giveBack(order)
    then(Self.refusal(refusal))
  }

  /// Sends the order, unless it is no longer allowed.
  private func resume(
    _ order: CallbackOrder, _ turn: Originator.Turn, _ then: @escaping @Sendable (OriginationResult) -> Void
  ) async {
    switch await prepare(order, turn) {
    case .stop(let result):
      originator.end(turn, wasSent: false)
      await giveBack(order)
      then(result)
    case .send(let token, let createdAt, let cache):
      api.request(
        order.content, token: token, traceparent: order.traceparent, timeout: order.deadline - clock.now
      ) { [self] report in
        order.context.task { [self] in
          then(await conclude(order, turn, token, report, createdAt: createdAt, cache))
        }
      }
    }
  }

  // MARK: Before the first byte

  private indirect enum Preparation {
    case send(AccessToken, createdAt: Instant, AuditRecord.CacheUse)
    case stop(OriginationResult)
  }

  /// Gets a token and commits the intent: nothing is kept before there is a token, and nothing sent before it is kept.
  private func prepare(_ order: CallbackOrder, _ turn: Originator.Turn) async -> Preparation {
    let token: AccessToken
    var cache = AuditRecord.CacheUse.hit
    if let cached = tokens.cached(scope, of: upstream, now: clock.now) {
      token = cached
    } else {
      cache = .miss
      do throws(TokenError) {
        token = try await tokens.token(scope, of: upstream, deadline: order.deadline)
      } catch {
        return .stop(Self.refusal(error))
      }
    }
    if let stopped = stopped(order, turn, cache) { return .stop(stopped) }
    // From here on the callback is finished, whether or not its client stays.
    if Task.isCancelled { return .stop(OriginationResult(.refused(.clientLeft), cache: cache)) }
    let createdAt = Instant(clock.unixTime)
    if let stopped = await begin(order, at: createdAt, cache) { return .stop(stopped) }
    // The commit may have taken its time.
    if let stopped = stopped(order, turn, cache) {
      store.withdraw(order.intent)
      return .stop(stopped)
    }
    order.stands(order.intent.id, inHand.numbers)
    return .send(token, createdAt: createdAt, cache)
  }

  /// No token is to be had.
  private static func refusal(_ error: TokenError) -> OriginationResult {
    var status: Int?
    if case .exchangeFailed(let cause, _) = error { status = cause.status }
    return OriginationResult(.refused(Problem(error)), cache: .miss, upstreamStatus: status)
  }

  /// No place is to be had.
  private static func refusal(_ refusal: Originator.Refusal) -> OriginationResult {
    OriginationResult(.refused(Problem(refusal)))
  }

  /// What speaks against going on now.
  private func stopped(
    _ order: CallbackOrder, _ turn: Originator.Turn, _ cache: AuditRecord.CacheUse
  ) -> OriginationResult? {
    obstacle(order, turn).map { OriginationResult(.refused($0), cache: cache) }
  }

  /// What has come up while the order waited that keeps it from being sent: the kill switch stops what waits, too.
  func obstacle(_ order: CallbackOrder, _ turn: Originator.Turn) -> Problem? {
    let intent = order.intent
    guard stops.stop(for: .callback, callerID: intent.callerID, appID: intent.appID) == nil else {
      return .stopped
    }
    if let rest = originator.pause { return .paused(rest) }
    return order.deadline - clock.now > turn.leastTime ? nil : .tooLate
  }

  /// Commits the intent; says what to answer where that is not possible.
  private func begin(
    _ order: CallbackOrder, at now: Instant, _ cache: AuditRecord.CacheUse
  ) async -> OriginationResult? {
    do throws(StoreError) {
      let beginning = try await store.begin(order.intent, at: now)
      guard case .duplicate(let first) = beginning else { return Self.result(beginning, cache) }
      order.stands(first, inHand.numbers)
      return await duplicate(order, of: first, cache)
    } catch {
      log.storeFailed(error, doing: "begin", requestID: order.requestID)
      // Should it have been committed all the same, the store withdraws it.
      return Self.noStore(cache)
    }
  }

  private static func noStore(_ cache: AuditRecord.CacheUse) -> OriginationResult {
    OriginationResult(.refused(.noStore), cache: cache)
  }

  private static func result(
    _ beginning: CallbackBeginning, _ cache: AuditRecord.CacheUse
  ) -> OriginationResult? {
    switch beginning {
    case .begun, .duplicate: nil
    case .inProgress: OriginationResult(.refused(.stillRunning), cache: cache)
    case .mismatch: OriginationResult(.refused(.otherRequest), cache: cache)
    case .replay(let record, let answer): OriginationResult(.replay(record, answer), cache: cache)
    }
  }

  private func duplicate(
    _ order: CallbackOrder, of first: CallbackID, _ cache: AuditRecord.CacheUse
  ) async -> OriginationResult {
    OriginationResult(.refused(await store.problem(duplicateOf: first, order.intent)), cache: cache)
  }

  /// Gives back what was taken for an order that came to nothing.
  func giveBack(_ order: CallbackOrder) async {
    brakes.gaveBack(order.receipts)
    await ledger.giveBack(order.receipts, at: Instant(clock.unixTime))
  }
}
