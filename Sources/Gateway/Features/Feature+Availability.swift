// The endpoint that tells whether a callback is possible, and the number of available agents.

import API
import Configuration
import HTTP
import HTTPServer
import Handling
import Metrics
import Serving
import Talkdesk
import Tokens

extension Feature {
  /// The feature with the endpoint for availability and bookable times, and with the number of available
  /// agents.
  static let availability = Feature(
    endpoints: [
      ServedEndpoint(
        "/availability", for: .apps, isKept: true,
        .clients(.availability) { handlers, request, _, exchange in
          handlers.showAvailability(request, &exchange)
        }
      )
    ]) { wiring in
      let (agents, generations, tokens) = (
        wiring.runtime.liveAgents, wiring.generations, wiring.runtime.tokens
      )
      return [
        Part(
          name: "available agents",
          work: {
            await agents.run(
              source: {
                let configuration = generations.current.configuration
                guard let live = configuration.live, let upstream = configuration.talkdesk.upstream else {
                  return nil
                }
                return LiveAgents.Source(live, apiURL: upstream.apiURL)
              }, issuer: { tokens.issuer })
          },
          metrics: { text in
            guard let figure = generations.current.availableAgents else { return }
            text.family(
              "callgate_agents_available", .gauge, "Available agents, while Talkdesk reports their number.")
            text.sample(Int(figure.available))
          })
      ]
    }
}
