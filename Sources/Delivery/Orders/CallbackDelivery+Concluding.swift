// Finishes a callback after the provider's response: retries once after a refused token, saves the outcome
// and reports it.

import Gate
import Metrics
import Platform
import Records
import Store
import Tokens

extension CallbackDelivery {
  /// Saves the outcome of an order, and gives the turn back. If the provider certainly accepted nothing,
  /// gives the allowances back, or reschedules an appointment. Returns the true result even if the server
  /// could not save it.
  func conclude(
    _ order: CallbackOrder, _ hold: consuming Hold, _ departure: Departure, _ first: CourierReport
  ) async -> DeliveryResult {
    let (report, obstacle) = await sending(order, departure, first, leastTime: hold.leastTime)
    var reason = obstacle ?? Undelivered(report.outcome)
    // A pause applies only to the account that requested it. A reload may have configured another one.
    if case .notAccepted(.rateLimited(let wait)) = report.outcome, upstream == tokens.upstream {
      let span = wait ?? CallbackQueue.usualPause
      parts.queue.pause(for: span)
      parts.log.paused(span)
      // An earlier response may have asked for a longer pause.
      reason = .noTurn(.paused(parts.queue.pause ?? span))
    }
    hold.endTurn(wasSent: true)
    let state = CallbackSettlement.Outcome(report.outcome)
    if let reason, state == .failed, let outcome = await postpone(order, reason, wasSent: true) {
      hold.settle()
      return DeliveryResult(outcome, cache: departure.cache, upstreamStatus: report.status)
    }
    await settle(order, state, reason, report)
    if state == .failed { hold.withdraw() } else { hold.settle() }
    let outcome: DeliveryResult.Outcome =
      if let reason { .undelivered(reason, isRecorded: true) } else {
        .accepted(createdAt: departure.createdAt)
      }
    return DeliveryResult(outcome, cache: departure.cache, upstreamStatus: report.status)
  }

  /// Saves the outcome of an order.
  func settle(
    _ order: CallbackOrder, _ state: CallbackSettlement.Outcome, _ reason: Undelivered?,
    _ report: CourierReport?
  ) async {
    var settlement = CallbackSettlement(
      state, code: reason.map(code), upstreamStatus: report?.status, platformTID: report?.traceID,
      refusedFields: reason?.refusedFields ?? [], keepsKey: reason?.isKept ?? true,
      keyRetention: order.intent.terms.keyRetention, at: Instant(parts.clock.unixTime))
    if state == .failed {
      settlement.returned = order.appointment?.receipts ?? order.intent.charges?.receipts.map(\.kept) ?? []
    }
    await parts.settle(order.intent, settlement)
  }

  /// Handles the first report. If the provider refused the token, it certainly accepted nothing, so the
  /// request is sent once more with a new token, unless too many new tokens were refused lately.
  /// - Returns: The last report, and the obstacle to the second request; nil if that was sent or not planned.
  private func sending(
    _ order: CallbackOrder, _ departure: Departure, _ first: CourierReport, leastTime: Duration
  ) async -> (CourierReport, Undelivered?) {
    guard case .notAccepted(.tokenRefused) = first.outcome,
      tokens.invalidate(departure.token, scope: scope)
    else { return (first, nil) }
    let next: AccessToken
    do throws(TokenError) {
      next = try await tokens.token(for: order.grant, scope: scope, of: upstream, deadline: order.deadline)
    } catch {
      return (first, .noToken(error))
    }
    if let obstacle = await obstacle(order, leastTime: leastTime, startBy: departure.startBy) {
      return (first, obstacle)
    }
    let now = parts.clock.now
    let second = await courier.carry(
      order, with: next, within: order.deadline - now, startWithin: departure.startBy.map { $0 - now })
    if second.outcome.showsAcceptedToken { tokens.accepted(scope: scope) }
    return (second, nil)
  }
}

extension CourierReport.Outcome {
  /// Whether the provider accepted the token, because it went on to check the request itself.
  fileprivate var showsAcceptedToken: Bool {
    switch self {
    case .accepted, .notAccepted(.rejected): true
    case .notAccepted(.tokenRefused), .notAccepted(.forbidden), .notAccepted(.rateLimited),
      .notAccepted(.unavailable), .notAccepted(.unreachable), .notAccepted(.refused), .unknown:
      false
    }
  }
}

extension Undelivered {
  fileprivate var refusedFields: [String] {
    if case .notAccepted(.rejected(let fields)) = self { fields } else { [] }
  }
}

extension CallbackSettlement.Outcome {
  fileprivate init(_ outcome: CourierReport.Outcome) {
    self =
      switch outcome {
      case .accepted: .accepted
      case .notAccepted: .failed
      case .unknown: .unknown
      }
  }
}
