// Marks an appointment before its call, and reschedules it if the provider certainly accepted nothing.

import Gate
import Platform
import Store

extension CallbackDelivery {
  /// Marks an appointment, so that only this process makes its call. Returns the outcome if another process
  /// makes the call, if the appointment was moved or has ended, or if the store failed.
  func mark(
    _ order: CallbackOrder, _ appointment: OrderedAppointment
  ) async -> DeliveryResult.Outcome? {
    let now = Instant(parts.clock.unixTime)
    let deadline = now.advanced(by: order.deadline - parts.clock.now)
    let handover = order.intent.handover(at: now)
    do throws(StoreError) {
      if try await parts.store.mark(order.intent.id, for: appointment.due, deadline: deadline, handover) {
        return nil
      }
      parts.log.notMarked(id: order.intent.id.description)
      return .elsewhere
    } catch {
      // If the commit succeeded nevertheless, `RetryingStore` takes the mark back.
      parts.log.notMarked(error, id: order.intent.id.description)
      return .postponed(.notSaved, until: nextTry(appointment, nil))
    }
  }

  /// The final result of an order that was not sent. A callback ends. An appointment ends or is tried again.
  /// If the attempt counts or the appointment ends, the server first marks the appointment, so that only one
  /// process records the result. Otherwise several processes would, and an appointment that was moved would
  /// lose its new time.
  func unsent(
    _ order: CallbackOrder, _ result: DeliveryResult, isMarked: Bool = false
  ) async -> DeliveryResult {
    guard let appointment = order.appointment, case .undelivered(let reason, _) = result.outcome else {
      return result
    }
    var outcome: DeliveryResult.Outcome?
    if !isMarked {
      if case .waits(let asked, isTry: false) = reason.sequel {
        // Nothing has changed: the appointment is still due, for the first instance that is ready.
        outcome = .postponed(reason, until: nextTry(appointment, asked))
      } else {
        outcome = await mark(order, appointment)
      }
    }
    if outcome == nil { outcome = await postpone(order, reason, wasSent: false) }
    if outcome == nil { await settle(order, .failed, reason, nil) }
    return DeliveryResult(
      outcome ?? .undelivered(reason, isRecorded: true), cache: result.cache,
      upstreamStatus: result.upstreamStatus)
  }

  /// Reschedules a marked appointment for its next attempt.
  ///
  /// - Parameter wasSent: Whether the request was sent, and the provider accepted nothing.
  /// - Returns: Nil for an order that is not tried again: a callback, or an appointment whose failure is
  ///   final, that has no time for another attempt, or that another instance recovered as `unknown`. An
  ///   appointment that was never tried does not end here: it expires.
  func postpone(
    _ order: CallbackOrder, _ reason: Undelivered, wasSent: Bool
  ) async -> DeliveryResult.Outcome? {
    guard let appointment = order.appointment, case .waits(let asked, let isTry) = reason.sequel else {
      return nil
    }
    var due = nextTry(appointment, asked)
    var counts = isTry || wasSent
    // The provider named no time, so the last attempt comes shortly before the end instead of never.
    let last = appointment.lastTry.advanced(by: .zero - OrderedAppointment.lastMoment)
    if asked == nil, due > last, Instant(parts.scheduler.unixTime) < last { due = last }
    if counts, due > appointment.lastTry {
      guard !wasSent, appointment.tries == 0, case .noTurn = reason else { return nil }
      // No attempt has sent the request or failed to get a token. The appointment waits until its last
      // moment, and expires.
      (due, counts) = (appointment.lastTry, false)
    }
    let id = order.intent.id
    guard await parts.store.release(id, until: due, code: counts ? code(reason) : nil) else { return nil }
    parts.log.waits(id: id.description, code: code(reason), for: due - Instant(parts.scheduler.unixTime))
    return .postponed(reason, until: due)
  }

  private func nextTry(_ appointment: OrderedAppointment, _ asked: Duration?) -> Instant {
    Instant(parts.scheduler.unixTime).advanced(by: appointment.wait(asked, unit: jitter()))
  }
}
