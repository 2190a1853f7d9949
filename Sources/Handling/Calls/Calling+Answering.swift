// Makes the responses to callback requests. Before each response, writes its audit line.

import API
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import Platform
import Records
import Responses
import Serving
import Store

extension Handlers {
  /// The response to a permitted callback after its delivery.
  func response(to pending: PendingResponse, _ result: DeliveryResult) -> PreparedResponse {
    let order = pending.order
    var calling = pending.calling
    calling.record.cache = result.cache
    calling.record.upstreamStatus = result.upstreamStatus
    let id = order.intent.id
    // If the client may have left, the app learns the outcome from a push notification instead.
    if order.intent.notifies != nil, !pending.responder.mayClientHaveLeft {
      callbacks.store.told(id)
      calling.generation.told(id)
    }
    switch result.outcome {
    case .undelivered(.exhausted, _): return refuseExhausted(&calling, order.intent)
    case .undelivered(let reason, let isRecorded):
      var problem = Problem(reason)
      if case .noToken = reason { calling.record.lacksToken = true }
      if isRecorded { problem.id = id.description }
      if problem.code == .outcomeUnknown { problem.verificationCode = pending.verificationCode }
      return refuse(calling, problem)
    case .replay(let record): return replay(&calling, record)
    case .postponed, .elsewhere:
      preconditionFailure("the outcome of an appointment for an immediate callback")
    case .accepted(let createdAt):
      calling.record.callback = id.description
      let created =
        calling.created(id, at: nil, createdAt)
        ?? CallbackDocument.created(
          id, createdAt: createdAt, contact: order.intent.contact.masked,
          verificationCode: pending.verificationCode)
      return answer(&calling, created, order.intent.charges?.statuses ?? [])
    }
  }

  /// Refuses a request because other requests used up an allowance before its record was saved.
  func refuseExhausted(_ calling: inout Calling, _ intent: CallbackIntent) -> PreparedResponse {
    guard let charges = intent.charges, let (denial, verdicts) = charges.refusal else {
      preconditionFailure("an exhausted allowance without its denial")
    }
    let policy = calling.generation.decider.policy
    calling.record.verdicts = verdicts
    calling.record.reason = denial.reason
    if denial.code == .numberNotProven { calling.record.ownership = .used }
    logRefusal(denial, of: charges.facts, by: policy, calling.context)
    callbacks.brakes.refused(
      denial, by: policy.brakes, contact: calling.record.contact, at: Instant(clock.unixTime))
    return refuse(calling, Problem(denial))
  }

  /// Repeats the response to the first request with the key. An AI agent gets the current state of that
  /// request's callback instead.
  func replay(_ calling: inout Calling, _ record: StoredCallback) -> PreparedResponse {
    // The response to a booking shows the booking and not its end, which a push notification still reports.
    if record.at == nil, let responder = calling.responder { calling.generation.told(record, by: responder) }
    calling.record.callback = record.id.description
    calling.record.isReplay = true
    if let agent = calling.call?.agent { return answer(&calling, agent.repeated(record), []) }
    let code = calling.generation.verificationCode(of: record, at: Instant(clock.unixTime), log)
    // A repeated booking gets its first response again, even if the call failed later.
    if record.at == nil, var problem = Problem(repeating: record) {
      if problem.code == .outcomeUnknown { problem.verificationCode = code }
      return refuse(calling, problem)
    }
    if calling.call != nil {
      let at = record.at == nil ? nil : calling.at ?? record.at
      guard let created = calling.created(record.id, at: at, record.createdAt, earlier: record) else {
        return refuse(calling, Problem(.mismatch))
      }
      return answer(&calling, created, [])
    }
    return answer(
      &calling, CallbackDocument.created(record, at: calling.at, verificationCode: code), [])
  }

  /// Writes the audit line of a success, before the response is sent, and makes the response.
  func answer(
    _ calling: inout Calling, _ response: Response, _ statuses: [AllowanceStatus]
  ) -> PreparedResponse {
    audit.append(calling.record, since: calling.start, lane: calling.lane)
    var response = response
    response.fields.append(allowances: statuses)
    return PreparedResponse(response)
  }
}

extension Calling {
  /// The response to a success in the form of another API; nil for this server's own API.
  func created(
    _ id: CallbackID, at: Instant?, _ createdAt: Instant, earlier: StoredCallback? = nil
  ) -> Response? {
    guard let call, let asked else { return nil }
    return call.success(.init(id: id, at: at, createdAt: createdAt, earlier: earlier, request: asked))
  }
}
