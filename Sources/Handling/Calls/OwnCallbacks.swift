// The endpoints for a caller's own callbacks: reads one, waits for a change, lists appointments, and moves or
// cancels one.

package import API
package import Appointments
import Callbacks
import Callers
import Configuration
import Deciding
import Delivery
package import Gate
package import HTTP
package import HTTPServer
import Installations
import JOSE
import JSON
import Platform
package import Records
import Responses
import Sealing
package import Serving
package import Store
import Texts

extension Handlers {
  /// The maximum number of appointments in a list.
  private static let mostListed = 100
  /// The maximum time that a request waits for a change, in seconds.
  private static let longestWait = 25

  // MARK: Reading

  /// `GET /callbacks/{id}`: returns the record to the caller that requested it or, if users share a caller,
  /// to the user. With `wait`, first waits for a change.
  package func showCallback(_ id: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange) { [self] visit, _ throws(Problem) in
      let wait = try Self.wait(visit.request.queryItem("wait"))
      var record = try await record(id, of: visit.caller)
      if wait > 0 { record = try await change(of: record, within: .seconds(wait), visit) }
      // HEAD has no body.
      if visit.request.method != .head { visit.generation.told(record, by: visit.responder) }
      return CallbackDocument.response(document(of: record, visit))
    }
  }

  /// The interval at which a waiting request checks that its installation is still valid.
  private static let holdInterval = Duration.milliseconds(500)

  /// Waits for a change of a record. The wait ends early if the client has finished writing, since it may
  /// have closed its connection, or if the caller's installation is no longer valid.
  private func change(
    of record: StoredCallback, within span: Duration, _ visit: Visit
  ) async throws(Problem) -> StoredCallback {
    let owner = visit.caller.owner
    let party: AppointmentWatch.Party =
      visit.caller.hasOwnSubject
      ? .owner(callerID: ExactText(owner.callerID), subject: ExactText(owner.subject))
      : .any(at: visit.address)
    let installation = visit.caller.installation?.installation
    let directory = visit.generation.installationService?.directory
    let waiting = Task { [clock, watch = appointments.watch] in
      await withTaskGroup(of: StoredCallback?.self) { group in
        group.addTask {
          await watch.wait(
            for: record, of: party, until: visit.start + span,
            awaitsOutcome: visit.generation.configuration.outcomes != nil)
        }
        if let installation, let directory {
          group.addTask {
            while await clock.hasSlept(until: clock.now + Self.holdInterval) {
              // If the store fails, the request keeps waiting.
              do throws(StoreError) {
                guard try await directory.holds(installation) else { return nil }
              } catch {}
            }
            return nil
          }
        }
        defer { group.cancelAll() }
        // If the client leaves, both tasks end. Then the watch returns the record.
        for await result in group where result != nil || !Task.isCancelled { return result }
        return nil
      }
    }
    visit.responder.whenClientFinishes { waiting.cancel() }
    let changed = await withTaskCancellationHandler {
      await waiting.value
    } onCancel: {
      waiting.cancel()
    }
    if let installation, let directory {
      // The wait may have been longer than the installation's record is cached.
      let holds: Bool
      do throws(StoreError) { holds = try await directory.holdsNow(installation) } catch { throw .noRecords }
      guard holds else { throw .ended }
    }
    return changed ?? record
  }

  /// Reads `wait`, in seconds: 0 if it is absent, and never more than `longestWait`.
  private static func wait(_ item: Request.QueryItem) throws(Problem) -> Int {
    switch item {
    case .absent: return 0
    case .value(let text) where !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }:
      return min(Int(text) ?? longestWait, longestWait)
    case .value, .malformed:
      throw .invalid([.init(name: "wait", description: "Give a whole number of seconds, such as 25.")])
    }
  }

  /// `GET /callbacks?status=scheduled`: the caller's appointments.
  package func listCallbacks(_ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange) { [self] visit, _ throws(Problem) in
      switch visit.caller.proof {
      case .jwt, .installation: break
      case .none, .basic, .key:
        throw Problem(
          .denied,
          "Only users with a JWT and installations can list their appointments. Keep the ids of the responses."
        )
      }
      guard visit.request.queryItem("status") == .value(StoredCallback.Status.scheduled.rawValue) else {
        throw .invalid([.init(name: "status", description: "Give status=scheduled.")])
      }
      let owner = visit.caller.owner
      let records: [StoredCallback]
      do throws(StoreError) {
        records = try await store.appointments(
          of: owner.callerID, subject: owner.subject, most: Self.mostListed)
      } catch {
        throw .noRecords
      }
      return CallbackDocument.response([
        "callbacks": .array(records.map { .object(document(of: $0, visit)) })
      ])
    }
  }

  /// Finds a caller's own record. Unknown, foreign and malformed IDs, and IDs of tickets, get the same
  /// response.
  func record(_ text: String, of caller: Caller) async throws(Problem) -> StoredCallback {
    guard let id = CallbackID(text) else { throw .noCallback }
    let owner = caller.owner
    let record: StoredCallback?
    do throws(StoreError) {
      record = try await store.callback(id, of: owner.callerID)
    } catch {
      throw .noRecords
    }
    guard let record, record.ticket == nil, record.belongs(to: owner.subject) else { throw .noCallback }
    return record
  }

  /// The JSON form of a record for its owner.
  private func document(of record: StoredCallback, _ visit: Visit) -> JSONObject {
    CallbackDocument.record(
      record,
      verificationCode: visit.generation.verificationCode(of: record, at: Instant(clock.unixTime), log))
  }

  // MARK: Moving

  /// `PATCH /callbacks/{id}`: moves an appointment to another time, with the checks of a booking.
  package func moveCallback(_ id: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    let check: HeadCheck = { request, caller, generation, line throws(Problem) in
      // Only the store knows the app of the appointment. A stop of that app is checked later.
      try generation.checkStop(of: .callback, by: caller, app: caller.installedFor, &line)
      try JSONContent.checkPatch(request)
      try JSONContent.checkLength(request, atMost: CallbackLimits.contentBytes)
      guard CallbackID(id) != nil else { throw .noCallback }
    }
    visit(request, &exchange, as: .change, checking: check) { [self] visit, line throws(Problem) in
      line?.verdicts = visit.generation.decider.policy.skipped
      let at = try CallbackChange(parsing: visit.request.content).at
      let record = try await record(id, of: visit.caller)
      line?.note(record)
      let moved = try await change(record, AppointmentChange(at: at), visit, &line)
      return CallbackDocument.response(document(of: moved, visit))
    }
  }

  /// The maximum number of attempts at a change while other requests change the content first.
  private static let mostRewrites = 20

  /// Changes the time or content of an appointment, unless app, rules or store forbid it.
  package func change(
    _ record: StoredCallback, _ change: AppointmentChange, _ visit: Visit, _ line: inout AuditRecord?
  ) async throws(Problem) -> StoredCallback {
    let (decider, caller) = (visit.generation.decider, visit.caller)
    guard record.status == .scheduled else { throw .tooLate(record) }
    let app: App?
    do throws(Decider.Refusal) {
      app = try decider.admit(
        Applicant(caller), to: .callback, app: record.appID.map { .value($0) } ?? .absent)
    } catch {
      line?.note(error, decider.policy)
      throw error.problem
    }
    guard let at = change.at else { return try await rewrite(record, change, visit) }
    let now = Instant(clock.unixTime)
    if let fault = visit.generation.fault(inAppointment: at, at: now) {
      throw .invalid([fault])
    }
    var facts = visit.generation.facts(
      .callback, caller, app: app, address: visit.address, visit.request, at: clock.unixTime)
    facts.at = at
    for _ in 0..<Self.mostRewrites {
      switch try await move(record, to: at, change, facts, visit, &line) {
      case .moved(let moved):
        appointments.watch.changed(moved)
        keeper?.wake(at: at)
        return moved
      case .duplicate(let first): throw await alreadyBooked(first, visit.client)
      case .full:
        guard let time = AppointmentTime(at, visit.generation, facts) else { throw .noCallback }
        throw await full(time, visit.context)
      case .tooLate(let now): throw .tooLate(now)
      case .missing: throw .noCallback
      case .rewritten: continue
      }
    }
    throw .changedByOthers
  }

  /// Evaluates the rules, and has the store move the appointment.
  private func move(
    _ record: StoredCallback, to at: Instant, _ change: AppointmentChange, _ facts: Facts, _ visit: Visit,
    _ line: inout AuditRecord?
  ) async throws(Problem) -> MoveResult {
    let decider = visit.generation.decider
    var facts = facts
    let (kept, sealed) = try await content(of: record, visit.context)
    try await check(record, kept, visit)
    facts.phone = kept.contact
    let limits = visit.generation.configuration.callbacks
    let ruling = try await decider.ruleAgain(
      facts, asking: .besideAllowances, deadline: visit.start + limits.timeout)
    line?.verdicts = ruling.verdicts
    line?.reason = ruling.reason
    if case .refused(let denial) = ruling.concluded() {
      logRefusal(denial, of: facts, by: decider.policy, visit.context)
      var problem = Problem(denial)
      if line?.via != nil, denial.code == .closed, let time = AppointmentTime(at, visit.generation, facts) {
        // If the store fails, the response has no alternatives.
        do throws(StoreError) { problem.alternatives = try await time.alternatives(store) } catch {}
      }
      throw problem
    }
    guard let time = AppointmentTime(at, visit.generation, facts) else {
      preconditionFailure("a time that was judged without appointments")
    }
    var intent = CallbackIntent(
      id: record.id, callerID: record.callerID, subject: record.subject, appID: record.appID,
      contact: kept.contact, key: nil, terms: kept.terms, deadline: at)
    intent.notifies = visit.generation.notified(visit.caller)
    let rewritten = try self.rewritten(kept, change, record.id)
    var booking = time.booking(intent, content: rewritten ?? sealed)
    booking.replacedContent = rewritten.map { _ in sealed }
    do throws(StoreError) {
      return try await callbacks.store.move(booking, at: Instant(clock.unixTime))
    } catch {
      callbacks.log.storeFailed(error, doing: "move", visit.context)
      throw .notChanged(error)
    }
  }

  /// Checks that an appointment may still be made.
  private func check(
    _ record: StoredCallback, _ content: AppointmentContent, _ visit: Visit
  ) async throws(Problem) {
    let objection: String?
    do throws(StoreError) {
      objection = try await setting(visit.generation).objection(to: record, content)
    } catch {
      callbacks.log.storeFailed(error, doing: "move", visit.context)
      throw .noRecords
    }
    if let objection { throw Problem(.denied, "No longer allowed: \(objection).") }
  }

  /// Changes the content of an appointment, but not its time.
  private func rewrite(
    _ record: StoredCallback, _ change: AppointmentChange, _ visit: Visit
  ) async throws(Problem) -> StoredCallback {
    for _ in 0..<Self.mostRewrites {
      let (kept, sealed) = try await content(of: record, visit.context)
      try await check(record, kept, visit)
      guard let rewritten = try rewritten(kept, change, record.id) else { return record }
      do throws(StoreError) {
        if try await callbacks.store.rewrite(record.id, from: sealed, to: rewritten) { return record }
      } catch {
        callbacks.log.storeFailed(error, doing: "rewrite", visit.context)
        throw .notChanged(error)
      }
    }
    throw .changedByOthers
  }

  /// The changed content of an appointment, sealed; nil if the change keeps it.
  private func rewritten(
    _ content: AppointmentContent, _ change: AppointmentChange, _ id: CallbackID
  ) throws(Problem) -> [UInt8]? {
    guard let body = try change.body?(content), let keys = appointments.keys else { return nil }
    var content = content
    content.body = body
    do throws(OpenSSLError) {
      return try content.sealed(with: keys, for: id)
    } catch {
      log.write(.error, "an appointment could not be encrypted", ["error.message": "\(error)"])
      throw .unreadable
    }
  }

  /// Reads the content of an appointment, and returns it opened and as it is sealed in the store.
  package func content(
    of record: StoredCallback, _ context: RequestContext
  ) async throws(Problem) -> (AppointmentContent, sealed: [UInt8]) {
    let kept: DueAppointment?
    do throws(StoreError) {
      kept = try await store.scheduledAppointment(record.id)
    } catch {
      callbacks.log.storeFailed(error, doing: "move", context)
      throw .noRecords
    }
    guard let kept else { throw .tooLate(record) }
    guard let content = open(kept.content, of: record.id) else { throw .unreadable }
    return (content, kept.content)
  }

  private func open(_ sealed: [UInt8], of id: CallbackID) -> AppointmentContent? {
    guard let keys = appointments.keys else { return nil }
    do throws(StoreKeys.Failure) {
      return try AppointmentContent(opening: sealed, with: keys, for: id)
    } catch {
      log.write(
        .error, "the content of an appointment cannot be opened",
        ["id": id.description, "error.message": "\(error)"])
      return nil
    }
  }

  // MARK: Cancelling

  /// `DELETE /callbacks/{id}`: ends an appointment, and gives its allowances back.
  package func cancelCallback(_ id: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    let check: HeadCheck = { _, _, _, _ throws(Problem) in
      guard CallbackID(id) != nil else { throw .noCallback }
    }
    visit(request, &exchange, as: .cancel, checking: check) { [self] visit, line throws(Problem) in
      let record = try await record(id, of: visit.caller)
      line?.note(record)
      let ended = try await cancel(record, visit.generation, visit.context, visit.responder)
      return CallbackDocument.response(document(of: ended, visit))
    }
  }

  /// Ends an appointment as `cancelled`, and returns its record. If it is canceled already and `serial` is
  /// nil, returns the saved record.
  ///
  /// - Parameter serial: The serial number of the notification that this answers, since only one answer
  ///   counts. Nil for a request to cancel, and for a dialog about a callback that has no notifications.
  package func cancel(
    _ record: StoredCallback, answering serial: Int? = nil, _ generation: Generation,
    _ context: RequestContext, _ responder: Responder
  ) async throws(Problem) -> StoredCallback {
    let result: EndResult
    var receipts: [AllowanceReceipt] = []
    let ending = serial.map { AppointmentEnding.declined(serial: $0) } ?? .cancelled
    let now = Instant(clock.unixTime)
    do throws(StoreError) {
      var kept = try await store.scheduledAppointment(record.id)
      let present = kept == nil ? try await store.callbacks([record.id]).first ?? record : record
      // A call may have failed between the two reads, so that the appointment is scheduled again.
      if kept == nil, present.status == .scheduled { kept = try await store.scheduledAppointment(record.id) }
      if let kept {
        receipts = open(kept.content, of: record.id)?.receipts.map(AllowanceReceipt.init) ?? []
        result = try await callbacks.store.end(record.id, ending, returning: receipts, at: now)
      } else {
        result = .unchanged(present)
      }
    } catch {
      callbacks.log.storeFailed(error, doing: "cancel", context)
      if error.isInDoubt { findOut(record.id, ending, receipts, at: now) }
      throw .notChanged(error)
    }
    switch result {
    case .ended(let ended, _):
      cancelled(ended, receipts)
      generation.told(ended, by: responder)
      return ended
    case .unchanged(let now) where now.status == .cancelled && serial == nil:
      generation.told(now, by: responder)
      return now
    case .unchanged(let now): throw .tooLate(now)
    // An immediate callback is not an appointment.
    case .missing: throw .tooLate(record)
    }
  }

  /// Wakes the requests that wait for the record, and reports the end to brakes and metrics.
  private func cancelled(_ record: StoredCallback, _ receipts: [AllowanceReceipt]) {
    appointments.watch.changed(record)
    callbacks.ended(record.status, returning: receipts)
  }

  /// Finds out in the background whether a cancellation in doubt was made, and completes it if so. If not,
  /// the appointment stays: its owner was told to try again, and may have moved it since.
  private func findOut(
    _ id: CallbackID, _ ending: AppointmentEnding, _ receipts: [AllowanceReceipt], at now: Instant
  ) {
    callbacks.store.inBackground { [self] in
      guard let record = await callbacks.store.ended(id, ending, at: now) else { return }
      cancelled(record, receipts)
    }
  }
}

/// A change of an appointment's time or content.
package struct AppointmentChange: Sendable {
  /// The new time; nil to keep the old one.
  package var at: Instant?
  /// Makes the new body for Talkdesk; nil to keep the old one.
  package var body: (@Sendable (AppointmentContent) throws(Problem) -> [UInt8])?

  package init(at: Instant?, body: (@Sendable (AppointmentContent) throws(Problem) -> [UInt8])? = nil) {
    self.at = at
    self.body = body
  }
}

extension AuditRecord {
  /// Notes the callback that a request is about.
  package mutating func note(_ record: StoredCallback) {
    callback = record.id.description
    contact = record.contact
    app = record.appID
  }
}

extension Problem {
  fileprivate static var changedByOthers: Problem {
    Problem(.storeUnavailable, "Another request is changing this appointment.", tryAgainAfter: 1)
  }
}
