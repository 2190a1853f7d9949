// The request handler of the separate admin listener.

import API
import Admin
import HTTP
import HTTPServer
import Pages
import Responses
import Serving

/// Serves the operators' paths, the runbook, and health checks of this listener.
final class AdminHandler: RequestHandler {
  private let administration: Administration
  private let health: Health
  private let access: AdminAccess

  init(_ administration: Administration, _ health: Health, _ access: AdminAccess) {
    self.administration = administration
    self.health = health
    self.access = access
  }

  func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    let route = Route(request)
    exchange.route = route.label
    if route.endpoint?.audience == .operators || route.isUnknownToOperators {
      return administration.handle(route.served, access, request, &exchange)
    }
    // Close the connection of every client that has not sent the right token.
    exchange.closeAfterAnswer()
    if let redirect = AdminAccess.redirect(request) { return exchange.respond(redirect) }
    switch route.served?.handler(for: request.method) {
    case .health(let answer): exchange.respond(answer(health))
    case .document(let document): exchange.respond(document.answer(to: request))
    default: exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
    }
  }

  func judge(_ request: borrowing Request, _ exchange: inout Exchange) { handle(request, &exchange) }

  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    request.route = Route.label(of: request)
    return Problem(failure).response(requestID: request.requestID)
  }
}
