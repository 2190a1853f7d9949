// Books a callback for a later time: rules, allowances, the sealed content, and the store's checks of slot
// and number.

import API
import Appointments
import Callbacks
import Callers
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import JOSE
import Platform
import Records
import Responses
import Serving
import Store

extension Handlers {
  /// Evaluates the rules, and saves the appointment with the allowances that it uses, if nothing forbids
  /// it. A validation saves nothing.
  func book(
    _ calling: inout Calling, _ requested: RequestedCallback, for at: Instant, _ hold: inout Hold
  ) async -> Verdict {
    if !calling.isValidation {
      // If a customer taps twice, the second request is a duplicate of the first, even if the first one used
      // up a quota. So wait for the first.
      switch await hold.takeNumber(deadline: requested.deadline) {
      // An appointment is not a duplicate of an immediate callback to the number.
      case .free, .taken: break
      case .late: return .answer(refuse(calling, Problem(.noTurn(.late))))
      case .full:
        return .answer(refuse(calling, Problem(.noTurn(.overloaded(retryAfter: .seconds(1))))))
      }
    }
    let decider = calling.generation.decider
    var facts = requested.facts
    facts.instant = Instant(clock.unixTime)
    facts.at = at
    guard let time = AppointmentTime(at, calling.generation, facts) else {
      preconditionFailure("a booking without appointments")
    }
    let prover = calling.generation.prover(requested.request, clock: clock)
    let ruling: Ruling
    do throws(Problem) {
      ruling =
        calling.isValidation
        ? try await decider.ruling(facts, taking: false, deadline: requested.deadline, proving: prover)
        : try await decider.rulingOfRecord(facts, deadline: requested.deadline, proving: prover)
    } catch {
      calling.record.verdicts = decider.policy.skipped
      calling.record.note(unproven: error, requested.request)
      return .answer(refuse(calling, error))
    }
    (calling.record.verdicts, calling.record.reason) = (ruling.verdicts, ruling.reason)
    calling.record.ownership = ruling.ownership
    let statuses = ruling.statuses
    let charges: RecordCharges?
    switch ruling.concluded() {
    case .refused(let denial):
      guard !Task.isCancelled else { return .answer(clientLeft(calling)) }
      // Duplicates and full slots are reported before exhausted allowances.
      if denial.isOfAllowance, let obstacle = await obstacle(&calling, requested, time) {
        return .answer(obstacle)
      }
      logRefusal(denial, of: facts, by: decider.policy, calling.context)
      if !calling.isValidation {
        callbacks.brakes.refused(
          denial, by: decider.policy.brakes, contact: calling.record.contact, at: facts.instant)
      }
      return .answer(refuse(calling, await problem(denial, time, calling)))
    case .granted(let granted):
      charges = granted.charges
      guard !Task.isCancelled else { return .answer(clientLeft(calling)) }
    }
    if calling.isValidation {
      let obstacle = await obstacle(&calling, requested, time)
      return .answer(obstacle ?? answer(&calling, CallbackDocument.valid, statuses))
    }
    var intent = requested.intent
    intent.charges = charges
    intent.remembersFor = calling.generation.remembering(calling.record.ownership)
    let (content, code): (AppointmentContent, String?)
    do throws(Problem) {
      (content, code) = try await self.content(requested, &intent, facts, calling)
    } catch {
      return .answer(refuse(calling, error))
    }
    let now = Instant(clock.unixTime)
    let result: BookingResult
    do throws(StoreError) {
      result = try await callbacks.store.book(booking(intent, content, time), at: now)
    } catch {
      callbacks.log.storeFailed(error, doing: "book", calling.context)
      guard error.isInDoubt else { return .answer(refuse(calling, Problem(.notSaved))) }
      return .mayBeBooked(refuse(calling, .mayBeBooked))
    }
    if result == .exhausted { return .answer(refuseExhausted(&calling, intent)) }
    if let response = await response(to: result, &calling, time) { return .answer(response) }
    if let charges = intent.charges { hold.took(charges.receipts, at: now) }
    keeper?.wake(at: at)
    calling.record.callback = intent.id.description
    let created =
      calling.created(intent.id, at: at, now)
      ?? CallbackDocument.created(
        intent.id, at: at, createdAt: now, contact: intent.contact.masked, verificationCode: code)
    return .booked(answer(&calling, created, charges?.statuses ?? []))
  }

  /// The content of the appointment, still without the receipts of its allowances, and the verification code
  /// in it.
  private func content(
    _ requested: RequestedCallback, _ intent: inout CallbackIntent, _ facts: Facts, _ calling: Calling
  ) async throws(Problem) -> (AppointmentContent, code: String?) {
    let (body, code) = try await carried(requested, &intent, calling)
    let content = AppointmentContent(
      body: body, caller: requested.caller, facts: facts, receipts: [], context: calling.context,
      terms: intent.terms)
    return (content, code)
  }

  /// The booking. Its content is sealed with the receipts of the allowances, once the store has taken them.
  private func booking(
    _ intent: CallbackIntent, _ content: AppointmentContent, _ time: AppointmentTime
  ) -> Booking {
    guard let keys = appointments.keys else { preconditionFailure("appointments without a store key") }
    var booking = time.booking(intent, content: [])
    booking.seal = { [log, content = content.unsealed] receipts in
      do throws(OpenSSLError) {
        return try content.sealed(adding: receipts.map(\.kept), with: keys, for: intent.id)
      } catch {
        log.write(.error, "an appointment could not be encrypted", ["error.message": "\(error)"])
        return nil
      }
    }
    return booking
  }

  /// The response to a conflict in the store, such as a duplicate or a full slot, or to a failure of the
  /// store; nil if the booking could be saved. Saves nothing.
  private func obstacle(
    _ calling: inout Calling, _ requested: RequestedCallback, _ time: AppointmentTime
  ) async -> PreparedResponse? {
    let trial = time.booking(requested.intent, content: [], isTrial: true)
    let result: BookingResult
    do throws(StoreError) {
      result = try await callbacks.store.book(trial, at: Instant(clock.unixTime))
      if result == .full, try await time.hasPlace(store) { return nil }
    } catch {
      callbacks.log.storeFailed(error, doing: "book", calling.context)
      return refuse(calling, Problem(.notSaved))
    }
    return await response(to: result, &calling, time)
  }

  /// The response to a booking that was not saved; nil if it was saved, or if an allowance was exhausted.
  private func response(
    to result: BookingResult, _ calling: inout Calling, _ time: AppointmentTime
  ) async -> PreparedResponse? {
    switch result {
    case .booked, .exhausted: nil
    case .unsealed:
      refuse(
        calling, Problem(.internal, "The server could not encrypt the appointment, so it was not booked."))
    case .duplicate(let first):
      refuse(calling, await known(alreadyBooked(first, calling.client), first, calling))
    case .full: refuse(calling, await full(time, calling.context))
    case .inProgress: refuse(calling, Problem(.inProgress))
    case .mismatch: refuse(calling, Problem(.mismatch))
    case .revoked: refuse(calling, .revoked)
    case .replay(let record): replay(&calling, record)
    }
  }

  /// The problem of a denial. If the denial is `closed`, another API gets times that can be booked.
  func problem(_ denial: Denial, _ time: AppointmentTime?, _ calling: Calling) async -> Problem {
    var problem = Problem(denial)
    guard calling.client.form != nil, denial.code == .closed, let time else { return problem }
    // If the store fails, the response has no alternatives.
    do throws(StoreError) { problem.alternatives = try await time.alternatives(store) } catch {}
    return problem
  }

  /// The problem of a second appointment. Another API gets the time of the first.
  func alreadyBooked(_ first: CallbackID, _ client: ClientRequest) async -> Problem {
    var problem = Problem.alreadyBooked(first)
    guard client.form != nil else { return problem }
    do throws(StoreError) {
      problem.appointmentTime = try await store.scheduledAppointment(first)?.at
    } catch {
      // The response then has no time.
      callbacks.log.storeFailed(error, doing: "book", client.context)
    }
    return problem
  }

  /// The problem of a full slot, with alternatives; `noRecords` if the store cannot be read.
  func full(_ time: AppointmentTime, _ context: RequestContext) async -> Problem {
    do throws(StoreError) {
      return .slotFull(try await time.alternatives(store))
    } catch {
      callbacks.log.storeFailed(error, doing: "slots", context)
      return .noRecords
    }
  }
}

extension Denial {
  /// Whether an allowance is the reason: it is exhausted, or its store cannot be read. Rules after that one
  /// were not evaluated.
  fileprivate var isOfAllowance: Bool {
    switch code {
    case .rateLimited, .quotaExhausted, .storeUnavailable: true
    case .closed, .denied, .numberNotAllowed, .noAgents, .stopped, .unauthenticated, .upstreamUnavailable,
      .unknownApp,
      .numberNotProven, .consentRequired, .overloaded:
      false
    }
  }
}
