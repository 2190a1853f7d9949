// Processes a valid callback request: key, dedupe, rules and allowances, and then the request to Talkdesk.

import API
import Callbacks
import Callers
import Configuration
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import Installations
import Platform
import Records
import Responses
import Serving
import Store

/// An allowed callback request that waits for Talkdesk's response. A class, so that each waiting request is
/// stored once.
final class PendingResponse: Sendable {
  let calling: Calling
  let order: CallbackOrder
  /// The verification code in the callback; nil if it has none.
  let verificationCode: String?
  let responder: Responder

  init(
    calling: Calling, order: CallbackOrder, verificationCode: String?, responder: Responder
  ) {
    self.calling = calling
    self.order = order
    self.verificationCode = verificationCode
    self.responder = responder
  }
}

extension Handlers {
  /// The result of evaluating a valid request.
  enum Verdict {
    case answer(PreparedResponse)
    /// The order of a permitted callback, and its verification code.
    case make(CallbackOrder, String?)
    /// The response to a booking for a later time.
    case booked(PreparedResponse)
    /// The response to a booking that the store did not confirm, but may have saved.
    case mayBeBooked(PreparedResponse)
  }

  /// Evaluates a valid request, carries out a permitted callback, and responds.
  func answer(_ calling: Calling, _ requested: RequestedCallback, _ responder: Responder) async {
    var calling = calling
    calling.responder = responder
    var hold = Hold(requested.intent, callbacks)
    switch await consider(&calling, requested, &hold) {
    case .answer(let response):
      hold.withdraw()
      respond(response, to: calling, responder)
    case .booked(let response):
      hold.settle()
      respond(response, to: calling, responder)
    case .mayBeBooked(let response):
      hold.settle()
      respond(response, to: calling, responder)
    case .make(let order, let code):
      let pending = PendingResponse(
        calling: calling, order: order, verificationCode: code, responder: responder)
      await calling.generation.delivery(callbacks, tokens: tokens).carryOut(order, hold) { [self] result in
        respond(response(to: pending, result), to: pending.calling, pending.responder)
      }
    }
  }

  private func respond(_ response: PreparedResponse, to calling: Calling, _ responder: Responder) {
    calling.timer?.cancel()
    responder.respond(response)
    callbacks.inHand.leave()
  }

  /// Claims the key, reads the saved state of key and number, waits for another request that is about to
  /// call the number, and then evaluates the rules.
  private func consider(
    _ calling: inout Calling, _ requested: RequestedCallback, _ hold: inout Hold
  ) async -> Verdict {
    if let problem = await testRefusal(of: requested, calling) { return .answer(refuse(calling, problem)) }
    // Claim the key before reading the store: a request that finished meanwhile has saved its result there.
    let claim = claim(calling, requested, &hold)
    let now = Instant(clock.unixTime)
    let isAppointment = calling.at.map { !$0.isNow(at: now) } ?? false
    var duplicate: CallbackID?
    var requested = requested
    do throws(StoreError) {
      if requested.intent.key != nil || requested.intent.ownership != nil
        || requested.intent.screening != nil
        || !isAppointment && requested.intent.terms.dedupeWindow > .zero
      {
        let standing = try await callbacks.store.standing(of: requested.intent, at: now)
        requested.facts.number?.isRemembered = calling.generation.isRemembered(standing.proven, at: now)
        requested.facts.number?.screening = calling.generation.screening(standing.screening)
        switch standing.key {
        case .free: duplicate = isAppointment ? nil : standing.duplicate
        case .inProgress: return .answer(refuse(calling, Problem(.inProgress)))
        case .mismatch: return .answer(refuse(calling, Problem(.mismatch)))
        case .replay(let record)
        where calling.isValidation && (record.status == .accepted || record.at != nil):
          calling.record.isReplay = true
          // Without `?validate`, the request would repeat a success. A validation does nothing.
          return .answer(answer(&calling, CallbackDocument.valid, []))
        case .replay(let record): return .answer(replay(&calling, record))
        }
      }
      // Check before requesting a token: if the clock is wrong, the record cannot be saved.
      try callbacks.store.checkClock()
    } catch {
      callbacks.log.storeFailed(error, doing: "standing", calling.context)
      return .answer(refuse(calling, Problem(.notSaved)))
    }
    let agent = calling.call?.agent
    if agent != nil,
      let response = await follow(
        &calling, requested, claim, isAppointment: isAppointment, &duplicate, &hold)
    {
      return .answer(response)
    }
    switch claim {
    // `follow` has found no callback of an equal request, so this one continues.
    case _ where agent != nil: break
    case .inProgress: return .answer(refuse(calling, Problem(.inProgress)))
    case .mismatch: return .answer(refuse(calling, Problem(.mismatch)))
    case .free: break
    }
    if let agent, let fault = agent.fault(requested.request.consent, at: now) {
      calling.record.verdicts = calling.generation.decider.policy.skipped
      calling.record.reason = fault.rawValue
      return .answer(refuse(calling, agent.problem(fault)))
    }
    if let at = calling.at {
      if let fault = calling.generation.fault(inCallTime: at, at: now) {
        calling.record.verdicts = calling.generation.decider.policy.skipped
        return .answer(refuse(calling, .invalid([fault])))
      }
      if isAppointment { return await book(&calling, requested, for: at, &hold) }
    }
    let isDeduped = requested.intent.terms.dedupeWindow > .zero
    if duplicate == nil, !calling.isValidation, isDeduped || agent != nil {
      switch await hold.takeNumber(deadline: requested.deadline) {
      case .free: break
      case .taken(let first): duplicate = isDeduped ? first : nil
      case .late: return .answer(refuse(calling, Problem(.noTurn(.late))))
      case .full:
        return .answer(refuse(calling, Problem(.noTurn(.overloaded(retryAfter: .seconds(1))))))
      }
    }
    return await judge(&calling, requested, duplicate, &hold)
  }

  /// The state of the key in this process. Claims the key if it is free, unless this is a validation.
  private func claim(
    _ calling: Calling, _ requested: RequestedCallback, _ hold: inout Hold
  ) -> CallbacksInHand.Claim {
    // For an agent, the fingerprint is the callback's id, so that equal requests find the id of the first
    // one.
    let fingerprint =
      calling.call?.agent == nil ? requested.request.fingerprint : requested.intent.id.description
    guard calling.isValidation else { return hold.claimKey(fingerprint: fingerprint) }
    guard let key = CallbacksInHand.Key(requested.intent) else { return .free }
    return callbacks.inHand.look(key, fingerprint: fingerprint)
  }

  /// Evaluates the rules. The allowances are taken with the record.
  private func judge(
    _ calling: inout Calling, _ requested: RequestedCallback, _ duplicate: CallbackID?, _ hold: inout Hold
  ) async -> Verdict {
    // The checks that usually come after the rules come before the allowances here, so that a refused request
    // uses no allowance.
    let content = calling.isValidation ? [] : requested.request.content
    let noTurn =
      calling.isValidation || duplicate != nil
      ? nil
      : callbacks.queue.refusal(
        CallbackQueue.Party(requested.intent), deadline: requested.deadline, bytes: content.count)
    let takes = !calling.isValidation && noTurn == nil
    let decider = calling.generation.decider
    // The request may have waited for the store, or for another request to the number, so the rules use the
    // current time.
    var facts = requested.facts
    facts.instant = Instant(clock.unixTime)
    let prover = calling.generation.prover(requested.request, clock: clock)
    let ruling: Ruling
    do throws(Problem) {
      if duplicate != nil {
        ruling = try await decider.ruleAgain(
          facts, asking: .besideAllowances, deadline: requested.deadline, proving: prover)
      } else {
        ruling =
          takes
          ? try await decider.rulingOfRecord(facts, deadline: requested.deadline, proving: prover)
          : try await decider.ruling(facts, taking: false, deadline: requested.deadline, proving: prover)
      }
    } catch {
      calling.record.verdicts = decider.policy.skipped
      calling.record.note(unproven: error, requested.request)
      return .answer(refuse(calling, error))
    }
    calling.record.ownership = ruling.ownership
    let (verdicts, reason, statuses) = (ruling.verdicts, ruling.reason, ruling.statuses)
    let grant: Grant
    switch ruling.concluded() {
    case .refused(let denial):
      guard !Task.isCancelled else { return .answer(clientLeft(calling)) }
      calling.record.verdicts = verdicts
      calling.record.reason = reason
      logRefusal(denial, of: facts, by: decider.policy, calling.context)
      if takes {
        callbacks.brakes.refused(
          denial, by: decider.policy.brakes, contact: calling.record.contact, at: facts.instant)
      }
      let time = AppointmentTime(facts.instant, calling.generation, facts)
      return .answer(refuse(calling, await problem(denial, time, calling)))
    case .granted(let granted):
      guard !Task.isCancelled else { return .answer(clientLeft(calling)) }
      grant = granted
    }
    calling.record.verdicts = verdicts
    calling.record.reason = reason
    if let duplicate {
      return .answer(refuse(calling, await known(Problem(.duplicate(of: duplicate)), duplicate, calling)))
    }
    if calling.isValidation { return .answer(answer(&calling, CallbackDocument.valid, statuses)) }
    if let noTurn { return .answer(refuse(calling, Problem(.noTurn(noTurn)))) }
    var intent = requested.intent
    intent.charges = grant.charges
    intent.remembersFor = calling.generation.remembering(calling.record.ownership)
    guard let installation = requested.caller.installation?.installation,
      let service = calling.generation.installationService
    else {
      let order = CallbackOrder(
        grant, intent: intent, content: content, deadline: requested.deadline,
        context: calling.context)
      return .make(order, nil)
    }
    let (sent, code): ([UInt8], String?)
    do throws(Problem) {
      (sent, code) = try await carried(requested, &intent, calling)
    } catch {
      return .answer(refuse(calling, error))
    }
    let order = CallbackOrder(
      grant, intent: intent, content: sent, deadline: requested.deadline, context: calling.context,
      recheck: recheck(installation, service, calling.context))
    return .make(order, code)
  }

  /// The body for Talkdesk, and the verification code in it, if the callback carries one.
  func carried(
    _ requested: RequestedCallback, _ intent: inout CallbackIntent, _ calling: Calling
  ) async throws(Problem) -> (content: [UInt8], code: String?) {
    guard requested.carriesCode, let installation = requested.caller.installation?.installation,
      let service = calling.generation.installationService
    else { return (requested.request.content, nil) }
    let made = try await verificationCode(of: installation, service, intent, calling.context)
    intent.sealedCode = made.sealed
    let content = requested.request.content(
      verificationCode: made.code, installation: installation.client.id.description)
    return (content, made.code)
  }

  func clientLeft(_ calling: Calling) -> PreparedResponse {
    refuse(calling, .clientLeft)
  }
}
