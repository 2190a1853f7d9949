// Processes a valid request for a ticket: key, dedupe, rules, the request to the chat desk, and the
// outcome.

import API
import Callers
import ChatDesk
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
import Tokens

extension Handlers {
  /// The result of a valid request before its ticket is created.
  private enum TicketVerdict: ~Copyable, Sendable {
    case answer(PreparedResponse)
    /// The ticket has a record, and nothing forbids it.
    case open(Grant, CustomerID)
  }

  /// Answers a valid request. If the client leaves, the request ends, unless it already has a record.
  func answer(_ ticketing: Ticketing, _ requested: RequestedTicket, _ responder: Responder) async {
    var (ticketing, requested) = (ticketing, requested)
    var hold = Hold(requested.intent, callbacks)
    switch await consider(&ticketing, &requested, &hold) {
    case .answer(let response):
      hold.withdraw()
      responder.respond(response)
      callbacks.inHand.leave()
    case .open(let grant, let customer):
      let (granted, held) = (Once(grant), Once(hold))
      ticketing.context.task { [self, ticketing, requested] in
        var ticketing = ticketing
        let outcome = await requested.desk.source.open(
          requested.ticket, granted.take(), of: requested.user, customer, deadline: requested.deadline,
          trace: ticketing.record.trace)
        responder.respond(await conclude(&ticketing, requested, held.take(), outcome))
        callbacks.inHand.leave()
      }
    }
  }

  // MARK: Before the ticket

  /// Checks key, rules, dedupe, allowances and the desk's customer, and then saves the record. The order is
  /// the same as for callbacks.
  private func consider(
    _ ticketing: inout Ticketing, _ requested: inout RequestedTicket, _ hold: inout Hold
  ) async -> TicketVerdict {
    // Claim the key before reading the store: a request that finished meanwhile has saved its result there.
    let fingerprint = requested.intent.key.map { String(decoding: $0.fingerprint, as: UTF8.self) } ?? ""
    let claim = hold.claimKey(fingerprint: fingerprint)
    var duplicate: CallbackID?
    do throws(StoreError) {
      let standing = try await callbacks.store.standing(of: requested.intent, at: Instant(clock.unixTime))
      switch (standing.key, claim) {
      case (.replay(let record), _): return .answer(replay(&ticketing, record))
      case (.mismatch, _), (.free, .mismatch): return .answer(refuse(ticketing, Problem(.mismatch)))
      case (.inProgress, _), (.free, .inProgress): return .answer(refuse(ticketing, Problem(.inProgress)))
      case (.free, .free): duplicate = standing.duplicate
      }
      // Check before creating a customer at Sendbird: if the clock is wrong, the record cannot be saved.
      try callbacks.store.checkClock()
    } catch {
      return .answer(notSaved(&ticketing, error, "standing"))
    }
    if duplicate == nil, requested.intent.terms.dedupeWindow > .zero {
      switch await hold.takeNumber(deadline: requested.deadline) {
      case .free: break
      case .taken(let first): duplicate = first
      case .late: return .answer(refuse(ticketing, .ticketTooLate))
      case .full: return .answer(refuse(ticketing, .tooManyWaiting))
      }
    }
    let grant: Grant
    switch await judge(&ticketing, requested, takes: duplicate == nil) {
    case .refused(let response): return .answer(response)
    case .granted(let granted): grant = granted
    }
    requested.intent.charges = grant.charges
    if let duplicate { return .answer(refuse(ticketing, .duplicateTicket(of: duplicate))) }
    // The intent comes here because the next step may create the customer at Sendbird.
    let audited = AuditIntent(
      .ticket, ticketing.record.requestID, callback: requested.intent.id.description,
      callerID: requested.caller.id,
      app: requested.facts.appID)
    guard await callbacks.audit?.intends(audited) != false else {
      return .answer(refuse(ticketing, .noAudit))
    }
    let customer: CustomerID
    do throws(TokenError) {
      customer = try await requested.desk.source.customer(
        of: requested.user, named: requested.ticket.userName, deadline: requested.deadline,
        trace: ticketing.record.trace)
    } catch {
      if case .exchangeFailed(let cause, _) = error { ticketing.record.upstreamStatus = cause.status }
      return .answer(refuse(ticketing, Problem(ofTicket: error)))
    }
    if let problem = await obstacle(ticketing, requested) { return .answer(refuse(ticketing, problem)) }
    guard !Task.isCancelled else { return .answer(refuse(ticketing, .clientLeft)) }
    if let response = await begin(&ticketing, requested) { return .answer(response) }
    hold.recorded(requested.intent.id)
    if let charges = requested.intent.charges {
      hold.took(charges.receipts, at: Instant(clock.unixTime))
      ticketing.statuses = charges.statuses
    }
    // The commit may have been slow.
    if let problem = await obstacle(ticketing, requested) {
      callbacks.store.withdraw(requested.intent)
      return .answer(refuse(ticketing, problem))
    }
    return .open(grant, customer)
  }

  private enum TicketRuling: ~Copyable, Sendable {
    case refused(PreparedResponse)
    case granted(Grant)
  }

  /// Evaluates the rules. The allowances are taken with the record, unless the ticket is a duplicate.
  private func judge(
    _ ticketing: inout Ticketing, _ requested: RequestedTicket, takes: Bool
  ) async -> TicketRuling {
    let decider = ticketing.generation.decider
    var facts = requested.facts
    facts.instant = Instant(clock.unixTime)
    let ruling: Ruling
    do throws(Problem) {
      if takes {
        ruling = try await decider.rulingOfRecord(facts, deadline: requested.deadline)
      } else {
        ruling = try await decider.ruleAgain(facts, asking: .besideAllowances, deadline: requested.deadline)
      }
    } catch {
      ticketing.record.verdicts = decider.policy.skipped
      return .refused(refuse(ticketing, error))
    }
    (ticketing.record.verdicts, ticketing.record.reason) = (ruling.verdicts, ruling.reason)
    switch ruling.concluded() {
    case .refused(let denial):
      logRefusal(denial, of: facts, by: decider.policy, ticketing.context)
      return .refused(refuse(ticketing, Problem(denial)))
    case .granted(let grant): return .granted(grant)
    }
  }

  /// The problem that forbids a ticket after a wait; nil for none.
  private func obstacle(_ ticketing: Ticketing, _ requested: RequestedTicket) async -> Problem? {
    let generation = ticketing.generation
    if let installation = requested.caller.installation?.installation,
      let service = generation.installationService,
      let revoked = await recheck(installation, service, ticketing.context)()
    {
      return Problem(revoked)
    }
    let stop = generation.decider.stops.stop(
      for: .ticket, callerID: requested.caller.id, appID: requested.facts.appID)
    guard stop == nil else { return .stopped }
    return clock.now < requested.deadline ? nil : .ticketTooLate
  }

  /// Saves the intent. Returns the response if it was not saved; nil if it was.
  private func begin(_ ticketing: inout Ticketing, _ requested: RequestedTicket) async -> PreparedResponse? {
    do throws(StoreError) {
      switch try await callbacks.store.begin(requested.intent, at: Instant(clock.unixTime)) {
      case .begun: return nil
      case .exhausted: return refuseExhausted(&ticketing, requested)
      case .inProgress: return refuse(ticketing, Problem(.inProgress))
      case .mismatch: return refuse(ticketing, Problem(.mismatch))
      case .replay(let record): return replay(&ticketing, record)
      case .duplicate(let first): return refuse(ticketing, .duplicateTicket(of: first))
      }
    } catch {
      // If the commit succeeded nevertheless, the store withdraws the record.
      return notSaved(&ticketing, error, "begin")
    }
  }

  /// Refuses a ticket because other requests used up an allowance before its record was saved.
  private func refuseExhausted(_ ticketing: inout Ticketing, _ requested: RequestedTicket) -> PreparedResponse
  {
    guard let charges = requested.intent.charges, let (denial, verdicts) = charges.refusal else {
      preconditionFailure("an exhausted allowance without its denial")
    }
    ticketing.record.verdicts = verdicts
    logRefusal(denial, of: charges.facts, by: ticketing.generation.decider.policy, ticketing.context)
    return refuse(ticketing, Problem(denial))
  }

  private func notSaved(_ ticketing: inout Ticketing, _ error: StoreError, _ step: String) -> PreparedResponse
  {
    log.write(
      .error, "the store failed, so the server refused a ticket",
      ["step": step, "request_id": "\(ticketing.context.requestID)", "detail": "\(error)"])
    return refuse(ticketing, .ticketNotSaved)
  }

  /// Repeats the response to the first request with the key.
  private func replay(_ ticketing: inout Ticketing, _ record: StoredCallback) -> PreparedResponse {
    ticketing.record.isReplay = true
    guard let opened = record.ticket?.opened else {
      return refuse(ticketing, Problem(repeatingTicket: record) ?? .ticketUnknown(isAnswered: true))
    }
    return answer(&ticketing, record.id, opened)
  }

  // MARK: After the ticket

  /// Saves the outcome and makes the response.
  private func conclude(
    _ ticketing: inout Ticketing, _ requested: RequestedTicket, _ hold: consuming Hold,
    _ outcome: TicketOutcome
  ) async -> PreparedResponse {
    let id = requested.intent.id
    var problem: Problem
    switch outcome {
    case .opened(let ticket, let isMessageSent):
      let opened = StoredTicket.Opened(
        id: ticket.id, channelURL: ticket.channelURL, isMessageSent: isMessageSent)
      await settle(requested, .accepted, nil, keepsKey: true, StoredTicket(opened))
      hold.settle()
      return answer(&ticketing, id, opened)
    case .unknown(let isAnswered):
      problem = .ticketUnknown(isAnswered: isAnswered)
      await settle(requested, .unknown, problem, keepsKey: true)
      hold.settle()
    case .notOpened(let reason):
      problem = Problem(reason)
      let isKept = if case .rejected = reason { true } else { false }
      await settle(requested, .failed, problem, keepsKey: isKept)
      hold.withdraw()
    }
    problem.id = id.description
    return refuse(ticketing, problem)
  }

  private func settle(
    _ requested: RequestedTicket, _ outcome: CallbackSettlement.Outcome, _ problem: Problem?, keepsKey: Bool,
    _ ticket: StoredTicket? = nil
  ) async {
    var settlement = CallbackSettlement(
      outcome, code: problem?.code.rawValue, keepsKey: keepsKey,
      keyRetention: requested.intent.terms.keyRetention, ticket: ticket, at: Instant(clock.unixTime))
    if outcome == .failed {
      settlement.returned = requested.intent.charges?.receipts.map(\.kept) ?? []
    }
    await callbacks.settle(requested.intent, settlement, counter: requested.desk.counter)
  }
}
