// Takes a valid callback request through key, rules, dedupe and allowances to Talkdesk.

import API
import Callbacks
import Configuration
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import Platform
import Records
import Store

/// An allowed callback request that waits for Talkdesk's response. A class, so that each waiting request is stored once.
final class PendingResponse: Sendable {
  let calling: Calling
  let order: CallbackOrder
  /// The rest of the caller's allowances.
  let statuses: [AllowanceStatus]
  let responder: Responder

  init(calling: Calling, order: CallbackOrder, statuses: [AllowanceStatus], responder: Responder) {
    self.calling = calling
    self.order = order
    self.statuses = statuses
    self.responder = responder
  }
}

extension Gateway {
  /// What a sound request comes to.
  private enum Verdict {
    case answer(PreparedResponse)
    /// Nothing stands against it.
    case make(CallbackOrder, [AllowanceStatus])
  }

  /// Goes on once the request is known to be sound: key, rules, dedupe, allowances, and then Talkdesk.
  func answer(
    _ calling: Calling, _ requested: RequestedCallback, _ responder: Responder
  ) async {
    var calling = calling
    var hasClaimed = false
    switch await consider(&calling, requested, &hasClaimed) {
    case .answer(let response):
      end(requested.intent, hasClaimed: hasClaimed)
      responder.respond(response)
      callbacks.inHand.leave()
    case .make(let order, let statuses):
      let pending = PendingResponse(
        calling: calling, order: order, statuses: statuses, responder: responder)
      await calling.generation.origination(callbacks, tokens: tokens).carryOut(order) { [self] result in
        conclude(pending, result)
      }
    }
  }

  /// Gives back the turn at a number, which a request may have, and its key, if it has claimed it.
  private func end(_ intent: CallbackIntent, hasClaimed: Bool) {
    callbacks.inHand.numbers.leave(intent.id, at: NumbersInHand.Name(intent))
    if hasClaimed, let name = CallbacksInHand.Name(intent) { callbacks.inHand.release(name) }
  }

  /// Claims the key, asks for what is kept under it and the number, and waits for whoever is about to ask for that number.
  private func consider(
    _ calling: inout Calling, _ requested: RequestedCallback, _ hasClaimed: inout Bool
  ) async -> Verdict {
    if calling.generation.configuration.purpose == .sandbox,
      let problem = TestNumbers.problem(requested.intent.contact)
    {
      return .answer(refuse(&calling, problem))
    }
    // Before the store is asked: whatever had the key until now has its answer there.
    let claim = claim(calling, requested, &hasClaimed)
    var duplicate: CallbackID?
    if requested.key != nil || requested.intent.terms.dedupeWindow > .zero {
      do throws(StoreError) {
        let standing = try await callbacks.store.standing(of: requested.intent, at: Instant(clock.unixTime))
        switch standing.key {
        case .free: duplicate = standing.duplicate
        case .inProgress: return .answer(refuse(&calling, .stillRunning))
        case .mismatch: return .answer(refuse(&calling, .otherRequest))
        case .replay(_, let stored) where calling.isValidation && stored?.status == Status.created.code:
          calling.record.isReplay = true
          // The request would be a success, and nothing was done for this one.
          return .answer(answer(&calling, CallbackDocument.valid, []))
        case .replay(let record, let answer): return .answer(replay(&calling, record, answer))
        }
      } catch {
        callbacks.log.storeFailed(error, doing: "standing", requestID: calling.record.requestID)
        return .answer(refuse(&calling, .noStore))
      }
    }
    switch claim {
    case .inProgress: return .answer(refuse(&calling, .stillRunning))
    case .mismatch: return .answer(refuse(&calling, .otherRequest))
    case .free: break
    }
    if duplicate == nil, !calling.isValidation, requested.intent.terms.dedupeWindow > .zero {
      let turn = await callbacks.inHand.numbers.turn(
        of: requested.intent.id, at: NumbersInHand.Name(requested.intent), deadline: requested.deadline)
      switch turn {
      case .free: break
      case .taken(let first): duplicate = first
      case .late: return .answer(refuse(&calling, .tooLate))
      case .full: return .answer(refuse(&calling, .busy(after: .seconds(1))))
      }
    }
    return await judge(&calling, requested, duplicate)
  }

  /// What this process knows of the key, which is the request's from now on if it is free; a validation only looks.
  private func claim(
    _ calling: Calling, _ requested: RequestedCallback, _ hasClaimed: inout Bool
  ) -> CallbacksInHand.Claim {
    guard let name = CallbacksInHand.Name(requested.intent) else { return .free }
    let fingerprint = requested.request.fingerprint
    guard !calling.isValidation else { return callbacks.inHand.look(name, fingerprint: fingerprint) }
    let claim = callbacks.inHand.claim(name, fingerprint: fingerprint)
    hasClaimed = claim == .free
    return claim
  }

  /// Asks the rules, and takes the allowances if nothing stands against the callback.
  private func judge(
    _ calling: inout Calling, _ requested: RequestedCallback, _ duplicate: CallbackID?
  ) async -> Verdict {
    // What comes after the rules and before the allowances is known already, so nothing is taken in vain.
    let content = calling.isValidation ? [] : requested.request.content
    let noTurn =
      calling.isValidation || duplicate != nil
      ? nil
      : callbacks.originator.refusal(
        Originator.Party(requested.intent), deadline: requested.deadline, bytes: content.count)
    let takes = !calling.isValidation && noTurn == nil
    let decider = calling.generation.decider
    // The store and a request for the same number may have been waited for: rules judge by the clock of now.
    var facts = requested.facts
    facts.instant = Instant(clock.unixTime)
    let ruling: Ruling
    do throws(Problem) {
      if duplicate != nil {
        ruling = try await decider.ruleBesideAllowances(facts, deadline: requested.deadline)
      } else {
        switch decider.ruleAtOnce(facts, taking: takes) {
        case .ruled(let atOnce): ruling = atOnce
        case .untaken(let decision): ruling = await decider.take(decision, facts)
        case .undecided: ruling = try await decider.rule(facts, taking: takes, deadline: requested.deadline)
        }
      }
    } catch {
      calling.record.verdicts = decider.policy.skipped
      return .answer(refuse(&calling, error))
    }
    guard !Task.isCancelled else {
      if let grant = ruling.grant {
        await decider.ledger.giveBack(grant.receipts, at: Instant(clock.unixTime))
      }
      return .answer(calling.refuse(.clientLeft, because: AuditRecord.clientLeft, at: self))
    }
    calling.record.verdicts = ruling.verdicts
    calling.record.reason = ruling.reason
    let grant: Grant
    switch ruling.outcome {
    case .refused(let denial):
      logRefusal(denial, of: facts, by: decider.policy, calling.context)
      if takes {
        callbacks.brakes.refused(
          denial, by: decider.policy.brakes, contact: calling.record.contact, at: facts.instant)
      }
      return .answer(refuse(&calling, Problem(denial)))
    case .granted(let granted):
      callbacks.brakes.taken(granted.receipts, contact: calling.record.contact, at: facts.instant)
      grant = granted
    }
    if let duplicate {
      let problem = await callbacks.store.problem(duplicateOf: duplicate, requested.intent)
      return .answer(refuse(&calling, problem))
    }
    if calling.isValidation { return .answer(answer(&calling, CallbackDocument.valid, ruling.statuses)) }
    if let noTurn { return .answer(refuse(&calling, Problem(noTurn))) }
    let order = CallbackOrder(
      grant, intent: requested.intent, content: content, deadline: requested.deadline,
      context: calling.context)
    return .make(order, ruling.statuses)
  }

  /// Answers for a callback that was carried out: whatever key it has was claimed.
  private func conclude(_ pending: PendingResponse, _ result: OriginationResult) {
    let response = response(to: pending, result)
    end(pending.order.intent, hasClaimed: true)
    pending.responder.respond(response)
    callbacks.inHand.leave()
  }
}
