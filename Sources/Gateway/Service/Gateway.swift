// The public server's handler: from a request to exactly one answer, and for vending exactly one audit record.

internal import Gate
public import HTTP
public import HTTPServer
internal import JSON
internal import Platform
internal import Talkdesk

/// Answers everything the public listener is asked.
///
/// What is cached is answered before `handle` returns, on the connection's loop. What has to ask Talkdesk ID goes on in a
/// task, and the answer comes back through the responder.
public final class Gateway: RequestHandler {
  /// What requests are served with at the moment.
  let generations: Generations
  let tokens: TokenSource
  let prepared: PreparedTokens
  let audit: AuditLog
  let log: Log
  let clock: any TimeSource
  let health: Health
  let callbacks: CallbackParts
  private let administration: Administration

  init(
    generations: Generations, tokens: TokenSource, prepared: PreparedTokens, audit: AuditLog, log: Log,
    clock: any TimeSource, health: Health, callbacks: CallbackParts, administration: Administration
  ) {
    self.generations = generations
    self.tokens = tokens
    self.prepared = prepared
    self.audit = audit
    self.log = log
    self.clock = clock
    self.health = health
    self.callbacks = callbacks
    self.administration = administration
  }

  public func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    let route = Route(request)
    exchange.put(crossOriginFields(route, request))
    exchange.route = route.label.rawValue
    switch (route, request.method) {
    case (.access, .get), (.access, .head):
      vend(as: AccessForm(request), app: request.queryItem("app"), request, &exchange)
    case (.token(let app), .post):
      vend(as: .stock, app: app, request, &exchange)
    case (.callbacks, .post):
      call(request, &exchange)
    case (.callback(let id), .get), (.callback(let id), .head):
      showCallback(id, request, &exchange)
    case (.availability, .get), (.availability, .head):
      showAvailability(request, &exchange)
    case (.liveness, .get), (.liveness, .head):
      exchange.respond(Health.alive)
    case (.readiness, .get), (.readiness, .head):
      exchange.respond(health.readiness())
    case (.root, .get), (.root, .head):
      exchange.respond(LandingPage.document.answer(to: request))
    case (.openAPI, .get), (.openAPI, .head):
      exchange.respond(APIDescription.of(generations.current.configuration).openAPI.answer(to: request))
    case (.docs, .get), (.docs, .head):
      exchange.respond(APIDescription.of(generations.current.configuration).page.answer(to: request))
    case (.admin(let route), _):
      administration.handle(route, .token, request, &exchange)
    case (.unknown, _):
      refuse(.noEndpoint, &exchange)
    case (_, .options):
      auditOtherMethod(route, nil, request, exchange)
      exchange.respond(options(route, request))
    default:
      auditOtherMethod(route, .methodNotAllowed, request, exchange)
      refuse(.methodNotAllowed(route.allowed), &exchange)
    }
  }

  public func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    let problem = Problem(failure)
    request.route = RouteLabel(request).rawValue
    if request.hasFields, let asked = request.request {
      request.fields = crossOriginFields(Route(asked), asked)
    }
    auditRefusal(problem.code, request)
    logRefusal(failure, problem.code, request)
    return problem.response(requestID: request.requestID)
  }

  /// Requests with another method to the paths that vend are audited, too: each has its line.
  private func auditOtherMethod(
    _ route: Route, _ code: Problem.Code?, _ request: borrowing Request, _ exchange: borrowing Exchange
  ) {
    guard let action = route.audited(request.method) else { return }
    let address = generations.current.clientAddress.resolve(request, peer: exchange.peer.address)
    var record = AuditRecord(action: action, requestID: exchange.requestID, address: address)
    // What may be asked for here is no decision about asking for it.
    record.outcome = code == nil ? nil : .deny
    record.code = code
    record.trace = TraceContext(request)
    audit.append(record, since: exchange.now, lane: exchange.loopIndex)
  }

  private func refuse(_ problem: Problem, _ exchange: inout Exchange) {
    exchange.respond(problem.response(requestID: exchange.requestID))
  }
}
