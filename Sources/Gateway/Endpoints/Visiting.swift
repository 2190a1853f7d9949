// The endpoints where callers only look something up, which are authenticated but not audited.

import API
import Callers
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import JSON
import Platform
import Records
import Store

/// A caller who looks at something.
struct Visit: Sendable {
  let generation: Generation
  let caller: Caller
  let request: Request
  let address: IPAddress
  let time: UnixTime
}

extension Gateway {
  /// `GET /callbacks/{id}`: the record, for the caller that asked for it and, where users share a caller, for the user.
  func showCallback(_ id: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange) { [store = callbacks.store] visit throws(Problem) in
      guard let id = CallbackID(id) else { throw .noCallback }
      let record: StoredCallback?
      do throws(StoreError) {
        record = try await store.callback(id, of: visit.caller.id)
      } catch {
        throw .noRecords
      }
      guard let record, record.belongs(to: visit.caller.subject) else { throw .noCallback }
      return CallbackDocument.record(record)
    }
  }

  /// `GET /availability`: whether the server accepts callbacks now, the next change, and the rest of the
  /// caller's allowances.
  func showAvailability(_ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange) { visit throws(Problem) in
      let decider = visit.generation.decider
      let claim = decider.apps.claim(named: visit.request.queryItem("app"), by: visit.caller.id)
      let app = try claim.admitted()
      let facts = visit.generation.facts(
        .callback, visit.caller, app: app, address: visit.address, visit.request, at: visit.time)
      let isStopped = decider.stops.stop(for: .callback, callerID: visit.caller.id, appID: app?.id) != nil
      var availability = decider.policy.availability(
        of: .callback, callerID: visit.caller.id, appID: app?.id, at: facts.instant)
      if isStopped {
        availability.isOpen = false
        availability.nextChange = nil
        availability.windows = []
      }
      let statuses = decider.policy.statuses(for: facts, states: await decider.states(for: facts))
      return AvailabilityDocument.response(availability, isStopped: isStopped, statuses, at: facts.instant)
    }
  }

  /// Authenticates a request and responds to it from a task.
  private func visit(
    _ request: borrowing Request, _ exchange: inout Exchange,
    _ answer: @escaping @Sendable (Visit) async throws(Problem) -> Response
  ) {
    let generation = generations.current
    let address = generation.clientAddress.resolve(request, peer: exchange.peer.address)
    let context = RequestContext(requestID: exchange.requestID, trace: TraceContext(request))
    perform(
      Visiting(
        generation: generation, address: address, context: context, mayWait: exchange.mayDefer, answer: answer
      ), request, &exchange
    )
  }
}

/// A request that only reads.
private struct Visiting: RequestWork {
  let generation: Generation
  let address: IPAddress
  let context: RequestContext
  /// Whether the response may wait for a task; false if too many requests wait already.
  let mayWait: Bool
  let answer: @Sendable (Visit) async throws(Problem) -> Response

  var needsContent: Bool { false }

  func refuse(_ problem: Problem, because reason: String?, at gateway: Gateway) -> PreparedResponse {
    PreparedResponse(problem.response(requestID: context.requestID))
  }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at gateway: Gateway
  ) -> NextStep {
    switch generation.authenticator.authenticate(request, circumstances) {
    case .fetchFirst(let keys): return .fetchFirst(keys)
    case .refused(let problem):
      return .respond(PreparedResponse(problem.response(requestID: context.requestID)))
    case .caller(let caller):
      guard mayWait else { return .respond(refuse(.tooManyWaiting, because: nil, at: gateway)) }
      let visit = Visit(
        generation: generation, caller: caller, request: request.withoutContent(), address: address,
        time: circumstances.time)
      return .later { [answer, context] responder in
        do throws(Problem) {
          responder.respond(try await answer(visit))
        } catch {
          responder.respond(error.response(requestID: context.requestID))
        }
      }
    }
  }
}
