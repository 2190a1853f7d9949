// The handler of the operators' own listener.

internal import HTTP
internal import HTTPServer

/// Answers the operators' paths, and health for whoever checks this listener.
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
    exchange.route = route.label.rawValue
    if case .admin(let route) = route {
      return administration.handle(route, access, request, &exchange)
    }
    // Close the connection of every client that has not given the right token.
    exchange.closeAfterAnswer()
    let isRead = request.method == .get || request.method == .head
    switch route {
    case .liveness where isRead: exchange.respond(Health.alive)
    case .readiness where isRead: exchange.respond(health.readiness())
    default: exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
    }
  }

  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    request.route = RouteLabel(request).rawValue
    return Problem(failure).response(requestID: request.requestID)
  }
}
