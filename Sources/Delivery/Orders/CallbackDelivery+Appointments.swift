// Marks an appointment before its call, and lets it wait for another try where certainly nothing was accepted.

import Gate
import Platform
import Store

extension CallbackDelivery {
  /// Takes the store's leave to make an appointment's call; says what came of it where this process does not get it.
  func mark(
    _ order: CallbackOrder, _ appointment: OrderedAppointment
  ) async -> DeliveryResult.Outcome? {
    let deadline = Instant(parts.clock.unixTime).advanced(by: order.deadline - parts.clock.now)
    do throws(StoreError) {
      if try await parts.store.mark(order.intent.id, for: appointment.due, deadline: deadline) { return nil }
      parts.log.notMarked(id: order.intent.id.description)
      return .elsewhere
    } catch {
      // Should it have been committed all the same, the store takes the mark back.
      parts.log.notMarked(error, id: order.intent.id.description)
      return .postponed(.notSaved, until: nextTry(appointment, nil))
    }
  }

  /// What comes of an order of which nothing was sent. A callback is over. An appointment is tried again or ends, and the process
  /// that says so has its mark: so others do not say so too, and one that was moved meanwhile keeps its new time.
  func unsent(
    _ order: CallbackOrder, _ result: DeliveryResult, isMarked: Bool = false
  ) async -> DeliveryResult {
    guard let appointment = order.appointment, case .undelivered(let reason, _) = result.outcome else {
      return result
    }
    var outcome: DeliveryResult.Outcome?
    if !isMarked {
      if case .waits(let asked, isTry: false) = reason.sequel {
        // Nothing has changed: it is due still, for whichever instance comes first.
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

  /// Lets a marked appointment wait for its next try.
  ///
  /// - Parameter wasSent: Whether the provider was asked, and accepted nothing.
  /// - Returns: Nil for an order that ends: a callback, and an appointment that is not tried again, or not in time. Where nothing was
  ///   tried it is not for this process to end it: without any try it expires.
  func postpone(
    _ order: CallbackOrder, _ reason: Undelivered, wasSent: Bool
  ) async -> DeliveryResult.Outcome? {
    guard let appointment = order.appointment, case .waits(let asked, let isTry) = reason.sequel else {
      return nil
    }
    var due = nextTry(appointment, asked)
    var counts = isTry || wasSent
    if counts, due > appointment.lastTry {
      guard !wasSent, appointment.tries == 0, case .noTurn = reason else { return nil }
      // Neither Talkdesk nor Talkdesk ID was asked: it waits for its last moment, and expires.
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
