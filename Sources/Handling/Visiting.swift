// Runs requests that only need a caller.

package import API
package import Callers
package import HTTP
package import HTTPServer
package import Platform
package import Records
package import Serving

/// A caller who looks at something.
package struct Visit: Sendable {
  package let generation: Generation
  package let caller: Caller
  package let request: Request
  package let address: IPAddress
  package let time: UnixTime
  /// When the request was whole.
  package let start: MonotonicTime
  package let context: RequestContext
  /// Gets the response.
  package let responder: Responder
}

extension Handlers {
  /// Authenticates a request and responds to it from a task.
  ///
  /// - Parameters:
  ///   - readsContent: Whether its content counts. What is audited changes something, or says something of a secret: there it always
  ///     does.
  ///   - app: The app that the request is for; nil for the one that its query names.
  ///   - isAttested: Whether the app's terms of App Check hold for it.
  package func visit(
    _ request: borrowing Request, _ exchange: inout Exchange, as action: AuditedAction? = nil,
    readsContent: Bool = false, form: ResponseForm? = nil, app: Request.QueryItem? = nil,
    isAttested: Bool = true,
    _ answer: @escaping @Sendable (Visit, inout AuditRecord?) async throws(Problem) -> Response
  ) {
    let generation = generations.current
    let address = generation.clientAddress.resolve(request, peer: exchange.peer.address)
    let context = RequestContext(requestID: exchange.requestID, trace: TraceContext(request))
    var record = action.map { AuditRecord(action: $0, requestID: exchange.requestID, address: address) }
    record?.trace = context.trace
    record?.via = form?.via
    perform(
      Visiting(
        generation: generation, address: address, context: context, mayWait: exchange.mayDefer,
        start: exchange.now, lane: exchange.loopIndex, record: record,
        needsContent: readsContent || record != nil, form: form,
        app: isAttested ? app ?? request.queryItem("app") : nil, answer: answer
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
  let start: MonotonicTime
  let lane: Int
  /// Nil where looking is not audited.
  let record: AuditRecord?
  let needsContent: Bool
  /// The form of another interface; nil for this server's own.
  let form: ResponseForm?
  /// The app that the request names, if any, by whose terms of App Check it is judged; nil to judge it by none.
  let app: Request.QueryItem?
  /// Makes the response, and notes in the record what it is about.
  let answer: @Sendable (Visit, inout AuditRecord?) async throws(Problem) -> Response

  func refuse(_ problem: Problem, because reason: String?, at handlers: Handlers) -> PreparedResponse {
    refuse(problem, record, by: nil, because: reason, at: handlers)
  }

  private func refuse(
    _ problem: Problem, _ record: AuditRecord?, by caller: Caller?, because reason: String? = nil,
    at handlers: Handlers
  ) -> PreparedResponse {
    if var record {
      record.caller = caller?.audited ?? record.caller
      record.outcome = problem.code.isError ? .error : .deny
      record.code = problem.code
      record.rule = problem.rule
      record.retryAfter = problem.retryAfter
      record.callback = record.callback ?? problem.id
      record.reason = reason ?? record.reason
      handlers.audit.append(record, since: start, lane: lane)
    }
    guard let form else { return PreparedResponse(problem.response(requestID: context.requestID)) }
    return PreparedResponse(form.problem(problem, context.requestID))
  }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    var record = record
    let outcome: Authenticator.Outcome
    if let app {
      outcome = handlers.identify(request, app: app, in: generation, circumstances, lane: lane, &record)
    } else {
      outcome = handlers.authenticate(request, in: generation, circumstances, lane: lane, &record)
    }
    switch outcome {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(refuse(problem, record, by: nil, at: handlers))
    case .caller(let caller):
      guard mayWait else { return .respond(refuse(.tooManyWaiting, record, by: caller, at: handlers)) }
      let kept = needsContent ? copy request : request.withoutContent()
      return .later { [self, record] responder in
        let visit = Visit(
          generation: generation, caller: caller, request: kept, address: address, time: circumstances.time,
          start: start, context: context, responder: responder)
        var noted = record
        do throws(Problem) {
          let response = try await answer(visit, &noted)
          if var record = noted {
            record.caller = caller.audited
            handlers.audit.append(record, since: start, lane: lane)
          }
          responder.respond(response)
        } catch {
          responder.respond(refuse(error, noted, by: caller, at: handlers))
        }
      }
    }
  }
}
