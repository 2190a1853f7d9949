// Endpoints and metrics for the tickets of chat desks.

import API
import HTTP
import HTTPServer
import Handling
import Serving

extension Feature {
  /// The feature with the endpoints for tickets, and with the metrics of chat desks.
  static let tickets = Feature(
    endpoints: [
      ServedEndpoint(
        "/tickets", for: .apps, auditing: .known(.ticket),
        .clients(.tickets) { handlers, request, _, exchange in handlers.openTicket(request, &exchange) }),
      // An undecodable ID is treated as an unknown one.
      ServedEndpoint(
        "/tickets/{id}", for: .apps,
        .clients(.ticket) { handlers, request, parameters, exchange in
          handlers.showTicket(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
        }),
    ]) { wiring in
      [
        Part(
          name: "chat desks",
          metrics: { [weak desks = wiring.runtime.desks] in desks?.append(to: &$0) })
      ]
    }
}
