// Handles a callback request to the emulator: checks it, applies a fault and writes the journal.

import HTTP
import JSON
import Platform
import Synchronization

/// `POST /calls/callback` from start to end: the endpoint's checks, a waiting fault, the ring and the
/// journal.
struct CallbackService: Sendable {
  /// The path under the API's base URL.
  static let path = "/calls/callback"

  let endpoint: CallbackEndpoint
  /// A real account's response, in place of the usual one.
  let facts: AccountFacts?

  /// Handles a POST and returns how to end it.
  func act(_ call: Call, baseURL: String, now: UnixTime, state: borrowing Mutex<EmulatorState>) -> Ending {
    let fault = state.withLock { $0.faults.take(.callback) }
    var record = CallbackRecord(
      time: now, outcome: .fault, host: call.host, traceparent: call.traceparent, traceID: Identifier.random()
    )
    var ending: Ending
    if let fault, fault.preventsAction {
      record.outcome = fault.drop == .before ? .droppedBefore : .fault
      let reply = fault.refusal().map { fault.apply(to: $0, isRefusalOfTheRequest: false) }
      ending = Ending(reply, after: fault.delay, isCutOff: fault.drop == .during)
    } else {
      ending = answer(endpoint.judge(call, audience: baseURL, now: now), fault, &record)
    }
    ending.reply?.fields["platform-tid"] = record.traceID
    record.status = ending.reply?.status.code
    state.withLock { $0.journal.record(record) }
    return ending
  }

  private func answer(
    _ judgement: CallbackEndpoint.Judgement, _ fault: Fault?, _ record: inout CallbackRecord
  ) -> Ending {
    record.tokenScope = judgement.tokenScope
    var reply: Reply
    let isRefusal: Bool
    switch judgement.result {
    case .failure(let error):
      record.outcome = .refused
      isRefusal = true
      reply = .json(error.status, error.content)
      if error.status == .unauthorized { reply.fields["WWW-Authenticate"] = "Bearer" }
    case .success(let body):
      // Talkdesk documents neither the status nor the body of a success, so clients must accept any 2xx.
      reply = facts?.reply ?? .json(.created, Array("{}".utf8))
      isRefusal = false
      // If the account refuses a valid request, no phone rings.
      guard reply.status.code < 300 else {
        record.outcome = .refused
        break
      }
      record.outcome =
        switch fault?.drop {
        case .after: .droppedAfter
        case .during: .droppedDuring
        case .before, nil: .accepted
        }
      record.body = body
    }
    guard let fault else { return Ending(reply) }
    let answered = fault.drop == .after ? nil : fault.apply(to: reply, isRefusalOfTheRequest: isRefusal)
    return Ending(answered, after: fault.delay, isCutOff: fault.drop == .during)
  }
}
