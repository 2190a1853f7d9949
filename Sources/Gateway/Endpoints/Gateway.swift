// The public listener's handler: gives each request one response, and each vending request one audit record.

import API
import Admin
import Callers
import Gate
public import HTTP
public import HTTPServer
import Handling
import JSON
import Platform
import Records
import Responses
import Serving

/// Handles all requests of the public listener.
///
/// It responds to cached requests before `handle` returns, on the connection's loop. A request that needs
/// Talkdesk ID continues in a task, and its response returns through the responder.
public final class Gateway: RequestHandler {
  private let handlers: Handlers
  private let health: Health
  private let administration: Administration
  /// In strict mode: no success leaves before its audit line is on the disk. Callbacks and tickets wait before they are requested.
  private let strict: AuditTrail?

  init(_ handlers: Handlers, health: Health, administration: Administration) {
    self.handlers = handlers
    self.health = health
    self.administration = administration
    strict = handlers.audit.trail.flatMap { $0.isRequired ? $0 : nil }
  }

  /// For each endpoint, whether its successes may hold a token or a secret.
  private static let givesSecrets = ServedEndpoint.table.map { served in
    served.endpoint.actions.contains { $0 == .access || $0 == .enrol }
  }

  /// Lets a success leave once its audit line is on the disk.
  private static func gate(_ trail: AuditTrail) -> ResponseGate {
    let lost = trail.lostLines
    return ResponseGate(
      ask: { trail.whenRecorded(since: lost, $0) }, refusal: { Problem.noAudit.response(requestID: $0) })
  }

  var generations: Generations { handlers.generations }
  var audit: AuditLog { handlers.audit }
  var log: Log { handlers.log }

  public func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    let route = Route(request)
    exchange.put(crossOriginFields(route.endpoint, request))
    exchange.route = route.label
    switch route.destination {
    case .endpoint(let index):
      let served = ServedEndpoint.table[index]
      if let strict, Self.givesSecrets[index] { exchange.gate = Self.gate(strict) }
      switch served.handler(for: request.method) {
      case .clients(let answer): answer(handlers, request, route.parameters, &exchange)
      case .health(let answer): exchange.respond(answer(health))
      case .operators, .page: administration.handle(served, .token, request, &exchange)
      case nil where served.endpoint.audience == .operators:
        administration.handle(served, .token, request, &exchange)
      case nil: answerOtherMethod(served.endpoint, request, &exchange)
      }
    case .unknownToOperators: administration.handle(nil, .token, request, &exchange)
    case .server:
      let allowed = "GET, HEAD, POST, OPTIONS"
      guard request.method == .options else { return refuse(.methodNotAllowed(allowed), &exchange) }
      exchange.respond(Response(status: .noContent, fields: ["Allow": allowed]))
    case .unknown: refuse(.noEndpoint(meaning: Route.nearest(to: request)), &exchange)
    }
  }

  public func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    let problem = Problem(failure)
    request.route = Route.label(of: request)
    if request.hasFields, let asked = request.request {
      request.fields = crossOriginFields(Route(asked).endpoint, asked)
    }
    auditRefusal(problem.code, request)
    logRefusal(failure, problem.code, request)
    return problem.response(requestID: request.requestID)
  }

  /// `OPTIONS`, and methods that the endpoint does not know. Where every request is audited, these are, too.
  private func answerOtherMethod(
    _ endpoint: Endpoint, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    let code: Problem.Code? = request.method == .options ? nil : .methodNotAllowed
    if let action = endpoint.action(audited: request.method) {
      let address = generations.current.clientAddress.resolve(request, peer: exchange.peer.address)
      var record = AuditRecord(action: action, requestID: exchange.requestID, address: address)
      // `OPTIONS` gets the same response whether a request would be allowed or not.
      record.outcome = code == nil ? nil : .deny
      record.code = code
      record.trace = TraceContext(request)
      audit.append(record, since: exchange.now, lane: exchange.loopIndex)
    }
    guard code == nil else { return refuse(.methodNotAllowed(endpoint.allowed), &exchange) }
    exchange.respond(options(endpoint, request))
  }

  private func refuse(_ problem: Problem, _ exchange: inout Exchange) {
    exchange.respond(problem.response(requestID: exchange.requestID))
  }
}
