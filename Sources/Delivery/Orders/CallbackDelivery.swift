// Makes one granted callback: waits for a turn, gets a token, saves the intent or marks the appointment,
// sends the request and saves the outcome.

import Gate
import Metrics
import Platform
import Records
package import Store
package import Tokens

/// Carries out orders (docs/build/callbacks.md). Never repeats a request that the provider may have accepted,
/// and saves each outcome.
package final class CallbackDelivery: Sendable {
  let parts: CallbackParts
  let tokens: TokenSource
  let courier: any Courier
  let scope: TokenSource.ScopeID
  /// The account of `courier` and its tokens. A reload may switch to another account while orders wait.
  let upstream: TokenSource.Upstream
  let stops: StopBoard
  /// The blocked numbers; nil if numbers cannot be blocked.
  let blocked: BlockedNumbers?
  /// Returns the code of a reason, as saved in records.
  package let code: @Sendable (Undelivered) -> String
  /// Returns a random number in 0..<1, which spreads the retries of appointments.
  let jitter: @Sendable () -> Double

  package init(
    _ parts: CallbackParts, tokens: TokenSource, stops: StopBoard, blocked: BlockedNumbers? = nil,
    courier: any Courier,
    scope: TokenSource.ScopeID, upstream: TokenSource.Upstream,
    code: @escaping @Sendable (Undelivered) -> String,
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.parts = parts
    self.tokens = tokens
    self.stops = stops
    self.blocked = blocked
    self.courier = courier
    self.scope = scope
    self.upstream = upstream
    self.code = code
    self.jitter = jitter
  }

  /// Carries out an order, and calls `then` once with the result. If the provider certainly did not accept
  /// the order, the allowances are given back together with its record.
  ///
  /// A client that leaves cancels the task, but only until the order waits in the queue or has a record.
  /// After that the server completes the order.
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
      hold.withdraw()
      return then(await unsent(order, DeliveryResult(.noTurn(error))))
    }
    await resume(order, hold, then)
  }

  /// Waits for a turn, then sends.
  private func wait(
    _ order: CallbackOrder, _ hold: consuming Hold, _ then: @escaping @Sendable (DeliveryResult) -> Void
  ) async {
    do throws(CallbackQueue.Refusal) {
      try await hold.takeTurn(order)
    } catch {
      hold.withdraw()
      return then(await unsent(order, DeliveryResult(.noTurn(error))))
    }
    await resume(order, hold, then)
  }

  /// Sends the order, unless something now forbids it. No task waits for the provider.
  private func resume(
    _ order: CallbackOrder, _ hold: consuming Hold, _ then: @escaping @Sendable (DeliveryResult) -> Void
  ) async {
    switch await prepare(order, &hold) {
    case .stop(let result, let isMarked):
      hold.withdraw()
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

  /// The values needed to send an order.
  struct Departure: Sendable {
    let token: AccessToken
    let createdAt: Instant
    let cache: AuditRecord.CacheUse
    /// The latest time for the first byte of an appointment's request; nil for an immediate callback.
    let startBy: MonotonicTime?
  }

  private enum Preparation {
    case send(Departure)
    /// - isMarked: Whether the order is for an appointment that is already marked.
    case stop(DeliveryResult, isMarked: Bool = false)
  }

  /// Gets a token, then saves the intent. Without a token the server saves nothing, and without a record it
  /// sends nothing.
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
    // From here on, the server completes the callback even if its client leaves.
    if Task.isCancelled { return .stop(DeliveryResult(.clientLeft, cache: cache)) }
    let audited = AuditIntent(
      callOf: order.context, callback: order.intent.id.description,
      callerID: order.grant.callerID,
      app: order.intent.appID)
    guard await parts.audit?.intends(audited) != false else {
      return .stop(DeliveryResult(.unaudited, cache: cache))
    }
    let createdAt = Instant(parts.clock.unixTime)
    let startBy = order.appointment.map { appointment in
      let rest = appointment.lastTry - Instant(parts.scheduler.unixTime)
      return parts.clock.now + min(OrderedAppointment.startLimit, rest)
    }
    if let outcome = await begin(order, &hold, at: createdAt) {
      return .stop(DeliveryResult(outcome, cache: cache))
    }
    // The commit may have been slow.
    if let obstacle = await obstacle(order, leastTime: hold.leastTime, startBy: startBy) {
      let isMarked = order.appointment != nil
      if !isMarked { parts.store.withdraw(order.intent) }
      return .stop(DeliveryResult(obstacle, cache: cache), isMarked: isMarked)
    }
    hold.recorded(order.intent.id)
    return .send(Departure(token: token, createdAt: createdAt, cache: cache, startBy: startBy))
  }

  /// The reason why an order must not be sent after its wait; nil if it may be. A stop or a revocation also
  /// ends waiting callbacks. A stop of the caller `installation` ends the callbacks of a user's installation,
  /// although the user owns them.
  func obstacle(
    _ order: CallbackOrder, leastTime: Duration, startBy: MonotonicTime? = nil
  ) async -> Undelivered? {
    // Check this first, because the store may be slow: the checks below need the time after it.
    if let revoked = await order.recheck?() { return revoked }
    let intent = order.intent
    guard stops.stop(for: .callback, callerID: order.grant.callerID, appID: intent.appID) == nil else {
      return .stopped
    }
    guard blocked?.contain(intent.contact) != true else { return .blocked }
    if let rest = parts.queue.pause { return .noTurn(.paused(rest)) }
    let now = parts.clock.now
    if let startBy, now > startBy { return .noTurn(.late) }
    if let last = order.appointment?.lastTry, Instant(parts.scheduler.unixTime) > last {
      return .noTurn(.late)
    }
    return order.deadline - now > leastTime ? nil : .noTurn(.late)
  }

  /// Saves the intent, or the mark of an appointment. Returns the outcome if no request may be sent.
  private func begin(
    _ order: CallbackOrder, _ hold: inout Hold, at now: Instant
  ) async -> DeliveryResult.Outcome? {
    if let appointment = order.appointment { return await mark(order, appointment) }
    func stop(_ reason: Undelivered) -> DeliveryResult.Outcome { .undelivered(reason, isRecorded: false) }
    do throws(StoreError) {
      switch try await parts.store.begin(order.intent, at: now) {
      case .begun:
        if let charges = order.intent.charges { hold.took(charges.receipts, at: now) }
        return nil
      case .exhausted: return stop(.exhausted)
      case .inProgress: return stop(.inProgress)
      case .mismatch: return stop(.mismatch)
      case .replay(let record): return .replay(record)
      case .duplicate(let first):
        hold.recorded(first)
        return stop(.duplicate(of: first))
      }
    } catch {
      // If the commit succeeded nevertheless, `RetryingStore` withdraws the record.
      parts.log.storeFailed(error, doing: "begin", order.context)
      return stop(.notSaved)
    }
  }
}
