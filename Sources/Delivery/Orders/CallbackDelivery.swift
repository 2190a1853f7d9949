// Makes one granted callback: waits for a turn, gets a token, saves the intent or marks the appointment, sends the request and saves
// the outcome.

import Gate
import Metrics
import Platform
import Records
package import Store
package import Tokens

/// Carries orders out (docs/callbacks.md): never sends what may have been accepted, and keeps what became of it.
package final class CallbackDelivery: Sendable {
  let parts: CallbackParts
  let tokens: TokenSource
  let courier: any Courier
  let scope: TokenSource.ScopeID
  /// Where `courier` and its tokens belong to. A reload may put another in its place while orders wait.
  let upstream: TokenSource.Upstream
  let stops: StopBoard
  /// The word for a reason in a record.
  package let code: @Sendable (Undelivered) -> String
  /// Random numbers in 0..<1.
  let jitter: @Sendable () -> Double

  package init(
    _ parts: CallbackParts, tokens: TokenSource, stops: StopBoard, courier: any Courier,
    scope: TokenSource.ScopeID, upstream: TokenSource.Upstream,
    code: @escaping @Sendable (Undelivered) -> String,
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.parts = parts
    self.tokens = tokens
    self.stops = stops
    self.courier = courier
    self.scope = scope
    self.upstream = upstream
    self.code = code
    self.jitter = jitter
  }

  /// Carries an order out, and says once what came of it. What was taken for it is given back wherever the provider certainly did
  /// not accept.
  ///
  /// Its client may leave and end it, which cancels the task, until it waits in the queue or has a record. From then on nobody
  /// cancels it.
  package func carryOut(
    _ order: CallbackOrder, _ hold: consuming Hold, then: @escaping @Sendable (DeliveryResult) -> Void
  ) async {
    do throws(CallbackQueue.Refusal) {
      guard try hold.takeTurnAtOnce(order) else {
        let held = Once(hold)
        order.context.task { await self.wait(order, held.take(), then) }
        return
      }
    } catch {
      await hold.withdraw()
      return then(await unsent(order, DeliveryResult(.noTurn(error))))
    }
    await resume(order, hold, then)
  }

  /// Waits for a turn, and goes on.
  private func wait(
    _ order: CallbackOrder, _ hold: consuming Hold, _ then: @escaping @Sendable (DeliveryResult) -> Void
  ) async {
    do throws(CallbackQueue.Refusal) {
      try await hold.takeTurn(order)
    } catch {
      await hold.withdraw()
      return then(await unsent(order, DeliveryResult(.noTurn(error))))
    }
    await resume(order, hold, then)
  }

  /// Sends the order, unless it is no longer allowed. No task waits for the provider.
  private func resume(
    _ order: CallbackOrder, _ hold: consuming Hold, _ then: @escaping @Sendable (DeliveryResult) -> Void
  ) async {
    switch await prepare(order, &hold) {
    case .stop(let result, let isMarked):
      await hold.withdraw()
      then(await unsent(order, result, isMarked: isMarked))
    case .send(let departure):
      let held = Once(hold)
      let now = parts.clock.now
      if let appointment = order.appointment {
        let lateness = Instant(parts.scheduler.unixTime) - appointment.at
        parts.metrics.appointmentLateness.observe(nanoseconds: lateness.nanosecondsClamped)
      }
      courier.carry(
        order, with: departure.token, within: order.deadline - now,
        startWithin: departure.startBy.map { $0 - now }
      ) { [self] report in
        order.context.task { then(await self.conclude(order, held.take(), departure, report)) }
      }
    }
  }

  // MARK: Before the first byte

  /// What sending needs.
  struct Departure: Sendable {
    let token: AccessToken
    let createdAt: Instant
    let cache: AuditRecord.CacheUse
    /// When the first byte of an appointment's request has left at the latest.
    let startBy: MonotonicTime?
  }

  private enum Preparation {
    case send(Departure)
    /// - isMarked: Whether it is an appointment's order that has got its mark.
    case stop(DeliveryResult, isMarked: Bool = false)
  }

  /// Gets a token and commits the intent: nothing is kept before there is a token, and nothing sent before it is kept.
  private func prepare(_ order: CallbackOrder, _ hold: inout Hold) async -> Preparation {
    let token: AccessToken
    var cache = AuditRecord.CacheUse.hit
    if let cached = tokens.tokenAtOnce(
      for: order.grant, scope: scope, of: upstream, now: parts.clock.now)
    {
      token = cached
    } else {
      cache = .miss
      do throws(TokenError) {
        token = try await tokens.token(
          for: order.grant, scope: scope, of: upstream, deadline: order.deadline)
      } catch {
        var status: Int?
        if case .exchangeFailed(let cause, _) = error { status = cause.status }
        return .stop(DeliveryResult(.noToken(error), cache: cache, upstreamStatus: status))
      }
    }
    if let obstacle = await obstacle(order, leastTime: hold.leastTime) {
      return .stop(DeliveryResult(obstacle, cache: cache))
    }
    // From here on the callback is finished, whether or not its client stays.
    if Task.isCancelled { return .stop(DeliveryResult(.clientLeft, cache: cache)) }
    let createdAt = Instant(parts.clock.unixTime)
    let startBy = order.appointment.map { appointment in
      let rest = appointment.lastTry - Instant(parts.scheduler.unixTime)
      return parts.clock.now + min(OrderedAppointment.startLimit, rest)
    }
    if let outcome = await begin(order, &hold, at: createdAt) {
      return .stop(DeliveryResult(outcome, cache: cache))
    }
    // The commit may have taken its time.
    if let obstacle = await obstacle(order, leastTime: hold.leastTime, startBy: startBy) {
      let isMarked = order.appointment != nil
      if !isMarked { parts.store.withdraw(order.intent) }
      return .stop(DeliveryResult(obstacle, cache: cache), isMarked: isMarked)
    }
    hold.stands(order.intent.id)
    return .send(Departure(token: token, createdAt: createdAt, cache: cache, startBy: startBy))
  }

  /// What has come up while the order waited that keeps it from being sent: the kill switch and a revocation stop what waits, too.
  /// A user's installation is stopped as an installation, though its callbacks are the user's.
  func obstacle(
    _ order: CallbackOrder, leastTime: Duration, startBy: MonotonicTime? = nil
  ) async -> Undelivered? {
    // First, because the store may take its time: what is judged after it is judged by the clock of then.
    if let revoked = await order.recheck?() { return revoked }
    let intent = order.intent
    guard stops.stop(for: .callback, callerID: order.grant.callerID, appID: intent.appID) == nil else {
      return .stopped
    }
    if let rest = parts.queue.pause { return .noTurn(.paused(rest)) }
    let now = parts.clock.now
    if let startBy, now > startBy { return .noTurn(.late) }
    if let last = order.appointment?.lastTry, Instant(parts.scheduler.unixTime) > last {
      return .noTurn(.late)
    }
    return order.deadline - now > leastTime ? nil : .noTurn(.late)
  }

  /// Commits the intent, or the mark of an appointment; says what came of it where that is not possible.
  private func begin(
    _ order: CallbackOrder, _ hold: inout Hold, at now: Instant
  ) async -> DeliveryResult.Outcome? {
    if let appointment = order.appointment { return await mark(order, appointment) }
    func stop(_ reason: Undelivered) -> DeliveryResult.Outcome { .undelivered(reason, isRecorded: false) }
    do throws(StoreError) {
      switch try await parts.store.begin(order.intent, at: now) {
      case .begun: return nil
      case .inProgress: return stop(.inProgress)
      case .mismatch: return stop(.mismatch)
      case .replay(let record): return .replay(record)
      case .duplicate(let first):
        hold.stands(first)
        return stop(.duplicate(of: first))
      }
    } catch {
      // Should it have been committed all the same, the store withdraws it.
      parts.log.storeFailed(error, doing: "begin", order.context)
      return stop(.notSaved)
    }
  }
}
