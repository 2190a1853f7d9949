// Carries out a customer's choice in a dialog: call now, call later, cancel, or dial the number.

import API
import Appointments
import Callers
import Configuration
import Deciding
import Delivery
import Gate
import Installations
import Notices
import Platform
import PushDelivery
import Records
import Responses
import Serving
import Store

extension Handlers {
  /// The current time by the clock that decides when appointments are due.
  private var dueClock: Instant { Instant(seconds: callbacks.scheduler.unixTime.seconds) }

  /// The content of the appointment. If the appointment has ended or is being called meanwhile, its
  /// notification is no longer valid.
  private func content(
    of subject: DialogSubject, _ visit: DialogVisit
  ) async throws(Problem) -> AppointmentContent {
    do throws(Problem) {
      return try await content(of: subject.record, visit.context).0
    } catch {
      throw error.code == .tooLate ? .noNotice : error
    }
  }

  // MARK: Now

  /// Uses up the notification. The appointment becomes due now if a call now is allowed; otherwise its time
  /// stays.
  func connect(_ visit: inout DialogVisit, _ subject: DialogSubject) async throws(Problem) {
    let content = try await content(of: subject, visit)
    let now = dueClock
    var at = subject.at
    if now < at {
      do throws(Problem) {
        let ruling = try await ruling(on: subject.record, content, at: now, visit)
        visit.line?.verdicts = ruling.verdicts
        switch ruling.concluded() {
        case .granted: at = now
        case .refused(let denial): visit.line?.reason = "not before its time: \(denial.code.rawValue)"
        }
      } catch {
        visit.line?.reason = "not before its time: \(error.code.rawValue)"
      }
    }
    try await reschedule(subject, to: at, asking: nil, snoozes: nil, visit)
  }

  // MARK: Later

  /// Moves the appointment to a later time, as the customer chose.
  func putOff(_ visit: inout DialogVisit, _ subject: DialogSubject) async throws(Problem) {
    guard let confirm = visit.generation.appointments?.confirm, let time = snoozed(subject, confirm)
    else { throw .tooLate(subject.record) }
    let content = try await content(of: subject, visit)
    let ruling = try await ruling(on: subject.record, content, at: time, visit)
    visit.line?.verdicts = ruling.verdicts
    if case .refused(let denial) = ruling.concluded() {
      throw denial.code == .closed ? .tooLate(subject.record) : Problem(denial)
    }
    try await reschedule(
      subject, to: time, asking: max(dueClock, time.advanced(by: .zero - confirm.before)),
      snoozes: confirm.snoozes, visit)
  }

  /// The time by which the customer may put the appointment off. Nil if the configuration has no `confirm`,
  /// if the maximum number of snoozes is reached, or if the rules forbid it or cannot be evaluated now.
  func snooze(_ subject: DialogSubject, _ visit: DialogVisit) async throws(Problem) -> Duration? {
    guard let confirm = visit.generation.appointments?.confirm, let time = snoozed(subject, confirm) else {
      return nil
    }
    let content = try await content(of: subject, visit)
    let ruling: Ruling
    do throws(Problem) { ruling = try await self.ruling(on: subject.record, content, at: time, visit) } catch
    { return nil }
    guard case .granted = ruling.concluded() else { return nil }
    return confirm.snooze
  }

  private func snoozed(
    _ subject: DialogSubject, _ confirm: Configuration.Appointments.Confirmation
  ) -> Instant? {
    subject.record.snoozes < confirm.snoozes ? max(dueClock, subject.at).advanced(by: confirm.snooze) : nil
  }

  private func ruling(
    on record: StoredCallback, _ content: AppointmentContent, at time: Instant, _ visit: DialogVisit
  ) async throws(Problem) -> Ruling {
    try await setting(visit.generation).ruling(
      on: record, content, at: time, now: dueClock,
      deadline: visit.start + visit.generation.configuration.callbacks.timeout)
  }

  /// The parts of a configuration that decide about an appointment.
  func setting(_ generation: Generation) -> AppointmentSetting {
    AppointmentSetting(
      configuration: generation.configuration, decider: generation.decider,
      delivery: generation.delivery(callbacks, tokens: tokens),
      directory: generation.installationService?.directory)
  }

  private func reschedule(
    _ subject: DialogSubject, to at: Instant, asking confirmAt: Instant?, snoozes: Int?, _ visit: DialogVisit
  ) async throws(Problem) {
    let configuration = visit.generation.configuration
    let late = visit.generation.appointments?.late ?? AppointmentSetting.usualLateness
    let change = Rescheduling(
      id: subject.record.id, serial: subject.serial, from: subject.at, at: at, confirmAt: confirmAt,
      deadline: at.advanced(by: late + configuration.callbacks.timeout), mostSnoozes: snoozes)
    let result: ReschedulingResult
    do throws(StoreError) {
      try callbacks.store.checkClock()
      result = try await visit.push.notices.store.reschedule(change, at: dueClock)
    } catch {
      callbacks.log.storeFailed(error, doing: "reschedule", visit.context)
      throw .notChanged(error)
    }
    switch result {
    case .rescheduled(let record):
      appointments.watch.changed(record)
      keeper?.wake(at: at)
    // Another answer to the same notification was faster.
    case .tooLate(let record) where record.notices?.serial ?? 0 != subject.serial: throw .noNotice
    case .tooLate(let record): throw record.status == .scheduled ? .tooLate(record) : .noNotice
    case .missing: throw .noNotice
    }
  }

  // MARK: Not at all

  /// Cancels the appointment.
  func end(_ subject: DialogSubject, _ visit: DialogVisit) async throws(Problem) -> StoredCallback {
    do throws(Problem) {
      return try await cancel(
        subject.record, answering: subject.record.notices == nil ? nil : subject.serial, visit.generation,
        visit.context, visit.responder)
    } catch {
      // Meanwhile the call began, the appointment ended or was moved, or another answer was faster. So the
      // notification is no longer valid.
      throw error.code == .tooLate ? .noNotice : error
    }
  }

  /// Cancels the appointment, and returns the number that the customer calls.
  func dial(_ visit: DialogVisit, _ subject: DialogSubject) async throws(Problem) -> Dialog {
    let content = try await content(of: subject, visit)
    guard let number = content.talkdeskNumber else { throw .unreadable }
    let ended = try await end(subject, visit)
    let code = visit.generation.verificationCode(of: ended, at: Instant(clock.unixTime), log)
    return .dial(number.text, accessCode: code, subject.id)
  }
}
