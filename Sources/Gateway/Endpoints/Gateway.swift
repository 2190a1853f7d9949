// The request handler of the public listener: sends one response to each request, and writes one audit record
// for each audited request.

import API
import Admin
import Callers
import Gate
public import HTTP
public import HTTPServer
import Handling
import JSON
import Pages
import Platform
import Records
import Responses
import Serving

/// Handles all requests of the public listener.
///
/// A request for a cached token usually gets its response before `handle` returns, on the connection's loop.
/// A request that must wait, for example for Talkdesk ID or the store, continues in a task, which responds
/// through the responder.
public final class Gateway: RequestHandler {
  private let handlers: Handlers
  private let health: Health
  private let administration: Administration

  init(_ handlers: Handlers, health: Health, administration: Administration) {
    self.handlers = handlers
    self.health = health
    self.administration = administration
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
      switch served.handler(for: request.method) {
      case .clients where served.takesForms && isOfForeignPage(request):
        audit(.denied, served.endpoint, request, exchange)
        refuse(.foreignPage, &exchange)
      case .clients(let answer): answer(handlers, request, route.parameters, &exchange)
      case .health(let answer): exchange.respond(answer(health))
      case .document(let document): exchange.respond(document.answer(to: request))
      case .operators, .page: administration.handle(served, .token, request, &exchange)
      case nil where served.endpoint.audience == .operators:
        administration.handle(served, .token, request, &exchange)
      case nil where served.endpoint.audience == .agents: handlers.refuseAgentMethod(request, &exchange)
      case nil: answerOtherMethod(served.endpoint, request, &exchange)
      }
    case .unknownToOperators: administration.handle(nil, .token, request, &exchange)
    case .server:
      let allowed = "GET, HEAD, POST, OPTIONS"
      guard request.method == .options else { return refuse(.methodNotAllowed(allowed), &exchange) }
      exchange.respond(Response(status: .noContent, fields: ["Allow": allowed]))
    case .unknown:
      if let redirect = AdminAccess.redirect(request) { return exchange.respond(redirect) }
      refuse(.noEndpoint(meaning: Route.nearest(to: request)), &exchange)
    }
  }

  public func judge(_ request: borrowing Request, _ exchange: inout Exchange) { handle(request, &exchange) }

  /// Whether the request comes from a web page whose origin is not listed.
  private func isOfForeignPage(_ request: borrowing Request) -> Bool {
    request.namesForeignOrigin && !generations.current.crossOrigin.lists(request)
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

  /// Responds to `OPTIONS` and to methods that the endpoint does not support. If every request to the
  /// endpoint is audited, these are, too.
  private func answerOtherMethod(
    _ endpoint: Endpoint, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    guard request.method == .options else {
      audit(.methodNotAllowed, endpoint, request, exchange)
      return refuse(.methodNotAllowed(endpoint.allowed), &exchange)
    }
    guard !exchange.isEarly else { return }
    // The response is the same whether a request would be allowed or not.
    audit(nil, endpoint, request, exchange)
    exchange.respond(options(endpoint, request))
  }

  /// Writes the audit line of a request that reaches no handler, if the endpoint is audited.
  /// - Parameter code: The code of the refusal; nil if the request is not refused.
  private func audit(
    _ code: Problem.Code?, _ endpoint: Endpoint, _ request: borrowing Request, _ exchange: borrowing Exchange
  ) {
    guard let action = endpoint.action(audited: request.method) else { return }
    let address = generations.current.clientAddress.resolve(request, peer: exchange.peer.address)
    var record = AuditRecord(action: action, requestID: exchange.requestID, address: address)
    record.outcome = code == nil ? nil : .deny
    record.code = code
    record.trace = TraceContext(request)
    audit.append(record, since: exchange.now, lane: exchange.loopIndex)
  }

  private func refuse(_ problem: Problem, _ exchange: inout Exchange) {
    exchange.respond(problem.response(requestID: exchange.requestID))
  }
}
