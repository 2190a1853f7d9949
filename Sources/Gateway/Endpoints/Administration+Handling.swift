// Lets an operator's request in, and finds the operation that answers it.

import API
import Admin
import Callers
import HTTP
import HTTPServer
import Pages
import Platform
import Records
import Serving

extension Administration {
  /// Answers a request for an operators' path.
  /// - Parameters:
  ///   - served: The endpoint; nil for another path, which may be a file of the operator's page.
  ///   - access: The rule of access of its listener.
  func handle(
    _ served: ServedEndpoint?, _ access: AdminAccess, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    let generation = generations.current
    if served == nil, let file = access.file(for: request, tokenDigest: generation.adminTokenDigest) {
      return exchange.respond(file.answer(to: request))
    }
    if case .page = served?.handler(for: request.method) {
      if let page = access.page(tokenDigest: generation.adminTokenDigest) {
        return exchange.respond(page.answer(to: request))
      }
      if let page = access.replacement(for: request, tokenDigest: generation.adminTokenDigest) {
        exchange.closeAfterAnswer()
        return exchange.respond(page)
      }
    }
    let address = generation.clientAddress.resolve(request, peer: exchange.peer.address)
    let guesses = AdminAccess.Guesses(throttle: throttle, address: address, now: exchange.now)
    if let problem = access.refusal(request, tokenDigest: generation.adminTokenDigest, guesses) {
      if problem.code == .invalidToken {
        log.write(.warning, "admin request rejected: wrong token", ["address": "\(address)"])
      }
      // Close the connection of every client that has not given the right token.
      exchange.closeAfterAnswer()
      return exchange.respond(problem.response(requestID: exchange.requestID))
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
      let context = RequestContext(requestID: exchange.requestID, trace: TraceContext(request))
      try answer(
        self, request, OperatorRequest(generation: generation, address: address, context: context), &exchange)
    } catch {
      exchange.respond(error.response(requestID: exchange.requestID))
    }
  }
}
