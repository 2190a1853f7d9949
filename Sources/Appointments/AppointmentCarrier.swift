// Handles one due appointment: checks the rules again, then delivers its callback or ends it without a call.

import API
import Callers
import Configuration
import Deciding
package import Delivery
import Gate
import HTTP
import HTTPServer
import Installations
import Platform
package import Records
package import Sealing
package import Store

/// Handles each due appointment with the configuration that is current at that moment.
///
/// Several instances may handle the same appointment. The store accepts its mark or its end from only one of
/// them. Only that instance makes the call or writes the audit line.
package final class AppointmentCarrier: Sendable {
  private let parts: CallbackParts
  private let keys: StoreKeys
  private let watch: AppointmentWatch
  private let audit: AuditLog
  private let log: Log
  private let setting: @Sendable () -> AppointmentSetting
  private let onAccepted: @Sendable (StoredCallback, _ number: String?) -> Void

  /// - Parameters:
  ///   - keys: The store keys that open the contents.
  ///   - setting: The appointment parts of the current configuration.
  ///   - onAccepted: Called for each callback that Talkdesk accepted, if `appointments.calling` is on.
  package init(
    _ parts: CallbackParts, keys: StoreKeys, watch: AppointmentWatch,
    audit: AuditLog, log: Log, setting: @escaping @Sendable () -> AppointmentSetting,
    onAccepted: @escaping @Sendable (StoredCallback, _ number: String?) -> Void = { _, _ in }
  ) {
    self.parts = parts
    self.keys = keys
    self.watch = watch
    self.audit = audit
    self.log = log
    self.setting = setting
    self.onAccepted = onAccepted
  }

  /// An appointment being handled, with its content and its audit record.
  private struct Visit {
    let due: DueAppointment
    let content: AppointmentContent
    let setting: AppointmentSetting
    let start: MonotonicTime
    var record: AuditRecord

    var id: CallbackID { due.record.id }
    var times: OrderedAppointment {
      OrderedAppointment(
        at: due.at, due: due.due,
        lastTry: due.at.advanced(by: setting.lateness ?? AppointmentSetting.usualLateness),
        tries: due.tries, receipts: content.receipts)
    }
    /// The serial number of the question whose missing answer cancels the appointment. Nil if the
    /// configuration does not cancel unanswered appointments, if a call was already tried, or if the question
    /// was answered, was never asked, or was not accepted by a push provider.
    var unansweredSerial: Int? {
      guard setting.configuration.appointments?.confirm?.silence == .cancel, due.tries == 0,
        let notices = due.record.notices, notices.confirmAt != nil, notices.state == .taken
      else { return nil }
      return notices.serial
    }
  }

  private var now: Instant { Instant(parts.scheduler.unixTime) }

  // MARK: Handling

  /// Handles an appointment at the current time: makes its call if that is still allowed, leaves an early one
  /// for later, and ends a late one.
  package func handle(_ due: DueAppointment) async -> AppointmentKeeper.Handling {
    // The clock was set back after the appointment was read.
    guard due.at <= now, due.due <= now else { return .done }
    let content: AppointmentContent
    do throws(StoreKeys.Failure) {
      content = try AppointmentContent(opening: due.content, with: keys, for: due.record.id)
    } catch {
      return await unreadable(due, error)
    }
    var record = AuditRecord(
      action: .callback, requestID: content.requestID, address: content.address)
    record.trigger = .appointment
    record.caller = content.audited
    record.app = content.appID
    record.contact = content.contact.masked
    record.callback = due.record.id.description
    record.trace = content.trace
    let visit = Visit(
      due: due, content: content, setting: setting(), start: parts.clock.now, record: record)
    let handling = await RequestContext.$current.withValue(content.context) { await handle(visit) }
    await watch.lookAgain(at: due.record.id)
    return handling
  }

  private func handle(_ visit: Visit) async -> AppointmentKeeper.Handling {
    guard now <= visit.times.lastTry else { return await expire(visit) }
    guard visit.setting.lateness != nil else { return .done }
    if let serial = visit.unansweredSerial { return await endUnanswered(visit, serial) }
    var visit = visit
    guard admit(&visit) else { return await refuse(visit) }
    let ruling: Ruling
    do throws(Problem) {
      ruling = try await visit.setting.decider.ruleAgain(
        visit.content.facts(at: visit.due.at, now: now), asking: .whenDue, deadline: deadline(visit))
    } catch {
      return await postpone(visit, error)
    }
    (visit.record.verdicts, visit.record.reason) = (ruling.verdicts, ruling.reason)
    switch ruling.concluded() {
    case .refused(let denial):
      visit.record.code = Problem.Code(denial.code)
      visit.record.rule = denial.rule
      return await refuse(visit)
    case .granted(let grant): return await deliver(visit, grant)
    }
  }

  /// Whether the caller may still call and no stop applies. If not, notes the reason in the audit record.
  private func admit(_ visit: inout Visit) -> Bool {
    let (content, decider) = (visit.content, visit.setting.decider)
    if let objection = visit.setting.objection(to: content) {
      visit.record.verdicts = decider.policy.skipped
      visit.record.code = .denied
      visit.record.reason = objection
      return false
    }
    do throws(Decider.Refusal) {
      _ = try decider.admit(
        content.applicant, to: .callback, app: content.appID.map { .value($0) } ?? .absent)
      return true
    } catch {
      visit.record.note(error, decider.policy)
      visit.record.app = content.appID
      // Every other refusal counts as denied, such as that of a removed app.
      visit.record.code = error.problem.code == .stopped ? .stopped : .denied
      return false
    }
  }

  /// The deadline of one attempt.
  private func deadline(_ visit: Visit) -> MonotonicTime {
    parts.clock.now + visit.setting.configuration.callbacks.timeout
  }

  // MARK: The call

  private func intent(_ visit: Visit, until deadline: MonotonicTime) -> CallbackIntent {
    let content = visit.content
    var intent = CallbackIntent(
      id: visit.id, callerID: content.owner.callerID, subject: content.owner.subject,
      appID: content.appID, contact: content.contact, key: nil, terms: content.terms,
      deadline: Instant(parts.clock.unixTime).advanced(by: deadline - parts.clock.now))
    intent.talkdeskNumber = content.talkdeskNumber
    return intent
  }

  private func deliver(_ visit: Visit, _ grant: consuming Grant) async -> AppointmentKeeper.Handling {
    let (content, deadline) = (visit.content, deadline(visit))
    let intent = intent(visit, until: deadline)
    let order = CallbackOrder(
      grant, intent: intent, content: content.body, deadline: deadline, context: content.context,
      recheck: recheck(visit), appointment: visit.times)
    let hold = Once(Hold(intent, parts))
    let result = await withCheckedContinuation { continuation in
      content.context.task {
        await visit.setting.delivery.carryOut(order, hold.take()) { continuation.resume(returning: $0) }
      }
    }
    if result.endsWithoutCall { parts.brakes.gaveBack(content.receipts.map(AllowanceReceipt.init)) }
    var visit = visit
    visit.record.cache = result.cache
    visit.record.upstreamStatus = result.upstreamStatus
    switch result.outcome {
    case .accepted:
      if visit.setting.configuration.appointments?.calling == true {
        onAccepted(visit.due.record, content.talkdeskNumber?.text)
      }
    case .undelivered(let reason, _):
      visit.record.code = Problem.Code(rawValue: visit.setting.delivery.code(reason)) ?? .internal
    case .postponed(.notSaved, _): return notMarked(visit)
    case .replay, .postponed, .elsewhere: return .done
    }
    append(visit)
    return .done
  }

  /// Leaves the appointment due, because the store did not save its mark. The wait is as long as the
  /// appointment is already late (1 to 30 seconds), so each wait is about twice the last.
  private func notMarked(_ visit: Visit) -> AppointmentKeeper.Handling {
    .leftAside(for: min(max(now - visit.due.due, .seconds(1)), .seconds(30)))
  }

  /// Returns a check that the appointment's installation is still valid (`AppointmentSetting.isAlive`); nil
  /// if no installation booked it. If the store fails, nothing is sent.
  private func recheck(_ visit: Visit) -> (@Sendable () async -> Undelivered?)? {
    guard visit.content.installation != nil else { return nil }
    let (setting, content, id) = (visit.setting, visit.content, visit.id)
    return { [log = parts.log, store = parts.store.base, context = visit.content.context] in
      do throws(StoreError) {
        // Read the record again: it may have moved to another installation since the first read.
        let record = try await store.callbacks([id]).first ?? visit.due.record
        return try await setting.isAlive(record, content) ? nil : .revoked
      } catch {
        log.storeFailed(error, doing: "recheck", context)
        return .unchecked
      }
    }
  }

  // MARK: No call

  /// Ends an appointment whose call is no longer allowed, or cannot be tried again in time.
  private func refuse(_ visit: Visit) async -> AppointmentKeeper.Handling {
    await end(visit, .failed((visit.record.code ?? .internal).rawValue, due: visit.due.due))
  }

  /// Ends an appointment whose owner did not answer the question.
  private func endUnanswered(_ visit: Visit, _ serial: Int) async -> AppointmentKeeper.Handling {
    var visit = visit
    visit.record.outcome = .deny
    visit.record.reason = "its owner did not confirm it"
    return await end(visit, .unanswered(serial: serial))
  }

  /// Ends an appointment whose time has passed.
  private func expire(_ visit: Visit) async -> AppointmentKeeper.Handling {
    var visit = visit
    guard let code = visit.due.lastCode else {
      visit.record.outcome = .error
      visit.record.reason = "its time passed before the server could try it"
      return await end(visit, .expired(due: visit.due.due))
    }
    visit.record.code = Problem.Code(rawValue: code) ?? .internal
    visit.record.reason = "its time passed, and every attempt failed"
    return await end(visit, .failed(code, due: visit.due.due))
  }

  /// Postpones the appointment, because the rules could not be checked: for example, a policy service is too
  /// busy. Ends it if the next attempt would be too late.
  private func postpone(_ visit: Visit, _ problem: Problem) async -> AppointmentKeeper.Handling {
    let due = now.advanced(
      by: visit.times.wait(
        problem.retryAfter.map { .seconds($0) }, unit: .random(in: 0..<1)))
    var visit = visit
    visit.record.code = problem.code
    visit.record.verdicts = visit.setting.decider.policy.skipped
    guard due <= visit.times.lastTry else { return await refuse(visit) }
    let intent = intent(visit, until: parts.clock.now + .seconds(30))
    do throws(StoreError) {
      // Mark the appointment first, so that one that was moved meanwhile keeps its new time.
      let handover = intent.handover(at: Instant(parts.clock.unixTime))
      guard
        try await parts.store.mark(visit.id, for: visit.due.due, deadline: intent.deadline, handover)
      else { return .done }
    } catch {
      // The appointment is still due, or `RetryingStore` takes the mark back.
      return notMarked(visit)
    }
    let code = problem.code.rawValue
    guard await parts.store.release(visit.id, until: due, code: code) else {
      // Another instance recovered the record as `unknown`, because this process seemed to be gone.
      var settlement = CallbackSettlement(
        .failed, code: code, keepsKey: true, at: Instant(parts.clock.unixTime))
      settlement.returned = visit.content.receipts
      await parts.settle(intent, settlement)
      parts.brakes.gaveBack(visit.content.receipts.map(AllowanceReceipt.init))
      append(visit)
      return .done
    }
    parts.log.waits(id: visit.id.description, code: code, for: due - now)
    return .done
  }

  /// Handles an appointment whose content cannot be opened: leaves it to other instances, or ends it.
  private func unreadable(
    _ due: DueAppointment, _ failure: StoreKeys.Failure
  ) async -> AppointmentKeeper.Handling {
    let lateness = setting().lateness ?? AppointmentSetting.usualLateness
    let isLate = now > due.at.advanced(by: lateness)
    let id = due.record.id.description
    guard isLate || failure == .broken else {
      // Another instance may hold the key, or run the release that sealed it.
      log.write(
        .error, "an appointment cannot be opened here: the server leaves it to other instances",
        ["id": id, "detail": "\(failure)"])
      return .leftAside(for: .seconds(30))
    }
    let ending: AppointmentEnding =
      isLate
      ? due.lastCode.map { .failed($0, due: due.due) } ?? .expired(due: due.due)
      : .failed(Problem.Code.internal.rawValue, due: due.due)
    guard let record = await ended(due.record.id, ending, returning: []) else { return .done }
    // The ID of the booking request is inside the content, so the audit line gets a new ID.
    var line = AuditRecord(action: .callback, requestID: RequestID(), address: nil)
    line.trigger = .appointment
    line.caller = AuditedCaller(of: record)
    line.app = record.appID
    line.contact = record.contact
    line.callback = id
    (line.outcome, line.code) = (.error, .internal)
    line.reason = "its content could not be opened"
    audit.append(line, since: parts.clock.now, lane: 0)
    log.write(
      .error, "an appointment has ended because it cannot be opened: no call was requested",
      ["id": id, "status": record.status.rawValue, "detail": "\(failure)"])
    return .done
  }

  /// Ends an appointment without a call and writes its audit line, unless another instance or the owner was
  /// faster.
  private func end(_ visit: Visit, _ ending: AppointmentEnding) async -> AppointmentKeeper.Handling {
    let receipts = visit.content.receipts.map(AllowanceReceipt.init)
    guard await ended(visit.id, ending, returning: receipts) != nil else { return .done }
    append(visit)
    return .done
  }

  /// Ends an appointment and returns its record. Nil if this call did not end it: another instance marked or
  /// ended it first, it was canceled or moved, or the store failed.
  private func ended(
    _ id: CallbackID, _ ending: AppointmentEnding, returning receipts: [AllowanceReceipt]
  ) async -> StoredCallback? {
    let now = now
    var ended: StoredCallback?
    do throws(StoreError) {
      if case .ended(let record, _) = try await parts.store.end(id, ending, returning: receipts, at: now) {
        ended = record
      }
    } catch {
      if error.isInDoubt { ended = await parts.store.ended(id, ending, at: now) }
    }
    guard let ended else { return nil }
    parts.ended(ended.status, returning: receipts)
    watch.changed(ended)
    return ended
  }

  private func append(_ visit: Visit) {
    var record = visit.record
    if let code = record.code { record.outcome = code.isError ? .error : .deny }
    audit.append(record, since: visit.start, lane: 0)
  }
}
