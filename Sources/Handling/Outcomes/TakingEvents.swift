// `POST /hooks/talkdesk/{secret}`: takes events of Talkdesk's, and reads them after the answer.

import API
import Callers
import Configuration
package import HTTP
package import HTTPServer
import Outcomes
import Platform
import Serving

extension Handlers {
  /// Takes an event from a client that knows the path.
  package func takeEvent(_ token: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    let generation = generations.current
    guard let settings = generation.configuration.outcomes, settings.opens(token) else {
      return exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
    }
    guard request.content.count <= CallEvent.mostBytes else {
      let problem = Problem(.contentTooLarge, "Send at most \(CallEvent.mostBytes) bytes.")
      return exchange.respond(problem.response(requestID: exchange.requestID))
    }
    let event = HookedEvent(
      requestID: exchange.requestID,
      address: generation.clientAddress.resolve(request, peer: exchange.peer.address),
      received: exchange.now)
    guard outcomes.take(request.content, event) else {
      let problem = Problem(.overloaded, "Too many events wait. Send it again later.", retryAfter: 1)
      return exchange.respond(problem.response(requestID: exchange.requestID))
    }
    exchange.respond(Response(status: .noContent))
  }
}
