// Runs requests that only need a caller, and answers those of installations: they verify a code or revoke an installation.

import API
import Callers
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import Installations
import JSON
import Platform
import Records
import Responses
import Serving
import Store

/// A caller who looks at something.
struct Visit: Sendable {
  let generation: Generation
  let caller: Caller
  let request: Request
  let address: IPAddress
  let time: UnixTime
  /// When the request was whole.
  let start: MonotonicTime
  let context: RequestContext
}

extension Gateway {
  /// `DELETE /installations/self`: a phone revokes its own installation.
  func revokeSelf(_ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange, as: .revoke) { visit, _ throws(Problem) in
      guard let installation = visit.caller.installation?.installation, let desk = visit.generation.desk
      else {
        throw Problem(.denied, "Only an installation can revoke itself.")
      }
      do throws(InstallationDesk.Failure) {
        try await desk.revoke(installation.client.id)
      } catch {
        throw Problem(error)
      }
      return Response(status: .noContent, fields: ["Cache-Control": "no-store"])
    }
  }

  /// `POST /codes/verify`: whether a code is an installation's, now.
  func verifyCode(_ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange, as: .verify) { visit, record throws(Problem) in
      try JSONContent.check(visit.request)
      let terms = visit.generation.installations?.terms ?? [:]
      guard let desk = visit.generation.desk,
        terms.values.contains(where: { $0.verifiers.contains(visit.caller.id) })
      else { throw Problem(.denied, "This caller may not verify codes.") }
      let asked = try VerifyCodeRequest(parsing: visit.request.content)
      record?.installation = asked.id.description
      do throws(InstallationDesk.Failure) {
        let isValid = try await desk.verify(asked.code, of: asked.id, by: visit.caller.id) { terms[$0] }
        if !isValid { record?.reason = "the code is not valid" }
        return InstallationDocument.verified(isValid)
      } catch {
        throw Problem(error)
      }
    }
  }

  /// Authenticates a request and responds to it from a task.
  ///
  /// - Parameter readsContent: Whether its content counts. What is audited changes something, or says something of a secret: there
  ///   it always does.
  func visit(
    _ request: borrowing Request, _ exchange: inout Exchange, as action: AuditedAction? = nil,
    readsContent: Bool = false,
    _ answer: @escaping @Sendable (Visit, inout AuditRecord?) async throws(Problem) -> Response
  ) {
    let generation = generations.current
    let address = generation.clientAddress.resolve(request, peer: exchange.peer.address)
    let context = RequestContext(requestID: exchange.requestID, trace: TraceContext(request))
    var record = action.map { AuditRecord(action: $0, requestID: exchange.requestID, address: address) }
    record?.trace = context.trace
    perform(
      Visiting(
        generation: generation, address: address, context: context, mayWait: exchange.mayDefer,
        start: exchange.now, lane: exchange.loopIndex, record: record,
        needsContent: readsContent || record != nil, answer: answer
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
  /// Makes the response, and notes in the record what it is about.
  let answer: @Sendable (Visit, inout AuditRecord?) async throws(Problem) -> Response

  func refuse(_ problem: Problem, because reason: String?, at gateway: Gateway) -> PreparedResponse {
    refuse(problem, record, by: nil, because: reason, at: gateway)
  }

  private func refuse(
    _ problem: Problem, _ record: AuditRecord?, by caller: Caller?, because reason: String? = nil,
    at gateway: Gateway
  ) -> PreparedResponse {
    if var record {
      record.caller = caller?.audited
      record.outcome = problem.code.isError ? .error : .deny
      record.code = problem.code
      record.rule = problem.rule
      record.callback = record.callback ?? problem.id
      record.reason = reason ?? record.reason
      gateway.audit.append(record, since: start, lane: lane)
    }
    return PreparedResponse(problem.response(requestID: context.requestID))
  }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at gateway: Gateway
  ) -> NextStep {
    switch generation.authenticator.authenticate(request, circumstances) {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(refuse(problem, record, by: nil, at: gateway))
    case .caller(let caller):
      guard mayWait else { return .respond(refuse(.tooManyWaiting, record, by: caller, at: gateway)) }
      let visit = Visit(
        generation: generation, caller: caller,
        request: needsContent ? copy request : request.withoutContent(), address: address,
        time: circumstances.time, start: start, context: context)
      return .later { [self] responder in
        var noted = record
        do throws(Problem) {
          let response = try await answer(visit, &noted)
          if var record = noted {
            record.caller = caller.audited
            gateway.audit.append(record, since: start, lane: lane)
          }
          responder.respond(response)
        } catch {
          responder.respond(refuse(error, noted, by: caller, at: gateway))
        }
      }
    }
  }
}
