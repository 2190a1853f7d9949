// `POST /hooks/talkdesk/{secret}`: accepts Talkdesk's events, and parses them after the response.

import API
import Callers
import Configuration
package import HTTP
package import HTTPServer
import Outcomes
import Platform
import Serving

extension Handlers {
  /// Accepts an event from a client that knows the secret path.
  package func takeEvent(_ token: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    let generation = generations.current
    guard let hook = generation.configuration.outcomes?.hook(opening: token) else {
      return exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
    }
    guard max(request.content.count, request.announcedLength ?? 0) <= CallEvent.mostBytes else {
      return exchange.respond(
        Problem.contentTooLarge(CallEvent.mostBytes).response(requestID: exchange.requestID))
    }
    guard !exchange.isEarly else { return }
    let event = HookedEvent(
      requestID: exchange.requestID,
      address: generation.clientAddress.resolve(request, peer: exchange.peer.address),
      received: exchange.now)
    guard outcomes.take(request.content, by: hook, event) else {
      let problem = Problem(.overloaded, "Too many events are waiting.", tryAgainAfter: 1)
      return exchange.respond(problem.response(requestID: exchange.requestID))
    }
    exchange.respond(Response(status: .noContent))
  }
}
