// Authenticates an operator's request, checks the role, and calls the operation.

import API
import Admin
import Callers
import Gate
import HTTP
import HTTPServer
import Pages
import Platform
import Records
import Serving
import Store

extension Administration {
  /// Answers a request for an operators' path.
  /// - Parameters:
  ///   - served: The endpoint; nil for another path, which may be a file of the operator's page.
  ///   - access: How the listener authenticates operators.
  ///   - hasFetchedKeys: Whether the request has already waited for the keys of its JWT.
  func handle(
    _ served: ServedEndpoint?, _ access: AdminAccess, _ request: borrowing Request,
    _ exchange: inout Exchange,
    hasFetchedKeys: Bool = false
  ) {
    let generation = generations.current
    let operators = generation.operators
    if served == nil, let file = access.file(for: request, operators) {
      return exchange.respond(file.answer(to: request))
    }
    if case .page = served?.handler(for: request.method) {
      if let page = access.page(operators) { return exchange.respond(page.answer(to: request)) }
      if let page = access.replacement(for: request, operators) {
        exchange.closeAfterAnswer()
        return exchange.respond(page)
      }
    }
    let address = generation.clientAddress.resolve(request, peer: exchange.peer.address)
    let context = RequestContext(requestID: exchange.requestID, trace: TraceContext(request))
    let guesses = AdminAccess.Guesses(
      throttle: throttle, address: address, now: exchange.now, time: clock.credentialTime,
      hasFetchedKeys: hasFetchedKeys)
    let identity: Operator.Identity
    let role: Operator.Role?
    switch access.admit(request, operators, guesses) {
    case .by(let name, let own): (identity, role) = (name, own)
    case .refused(let problem):
      if problem.code == .invalidToken {
        log.write(.warning, "admin request rejected: wrong token", ["address": "\(address)"])
      }
      // Close the connection of every client that has not sent the right token.
      exchange.closeAfterAnswer()
      return exchange.respond(problem.response(requestID: exchange.requestID))
    case .fetchFirst(let source):
      // Wait until the whole request has arrived.
      guard !exchange.isEarly else { return }
      guard exchange.mayDefer else {
        return exchange.respond(Problem.tooManyWaiting.response(requestID: exchange.requestID))
      }
      let responder = exchange.deferred()
      let request = copy request
      context.task(answering: responder) {
        await source.fetchForUnknownKey()
        responder.resume { [self] in handle(served, access, request, &$0, hasFetchedKeys: true) }
      }
      return
    }
    let needed = served?.role(for: request.method) ?? .read
    guard let role, role >= needed else {
      return refuse(
        identity, role, needing: needed, served?.endpoint.actions.first ?? .read, from: address, context,
        &exchange)
    }
    do throws(Problem) {
      guard let served else { throw .noEndpoint }
      if request.method == .options {
        return exchange.respond(Response(status: .noContent, fields: ["Allow": served.endpoint.allowed]))
      }
      guard case .operators(let answer) = served.handler(for: request.method) else {
        throw .methodNotAllowed(served.endpoint.allowed)
      }
      guard !exchange.isEarly else { return }
      try answer(
        self, request,
        OperatorRequest(
          by: Operator(identity, role), generation: generation, address: address, context: context),
        &exchange)
    } catch {
      exchange.respond(error.response(requestID: exchange.requestID))
    }
  }
}
