// Endpoints and parts for installations: enrollment, attestations, key proofs and revocation.

import API
import Callers
import Gate
import HTTP
import HTTPServer
import Handling
import Installations
import Metrics
import Records
import Serving
import Store

extension Feature {
  /// The feature with the endpoints for installations of apps, and with their metrics.
  static let installations = Feature(
    endpoints: [
      ServedEndpoint(
        "/fetch-code", for: .apps, auditing: .known(.enrol), takesForms: true,
        .clients(.fetchCode) { handlers, request, _, exchange in handlers.fetchCode(request, &exchange) }),
      ServedEndpoint(
        "/attestation/challenge", for: .apps,
        .clients(.challenge) { handlers, request, _, exchange in handlers.giveChallenge(request, &exchange) }),
      ServedEndpoint(
        "/installations/self", for: .apps, auditing: .known(.revoke),
        .clients(.revokeSelf) { handlers, request, _, exchange in handlers.revokeSelf(request, &exchange) }),
    ]) { wiring in
      let generations = wiring.generations
      return [
        Part(
          name: "installations",
          work: { [installations = wiring.runtime.installations] in await installations?.keepCounted() },
          metrics: { [weak counts = wiring.runtime.installations?.counts] text in
            guard generations.current.installations != nil, let counts = counts?.latest else { return }
            text.family("callgate_installations", .gauge, "Installations and requests for them, by state.")
            for state in InstallationQuery.State.allCases {
              text.sample([("state", state.rawValue)], counts[state])
            }
          },
          // Save the times of last use before the store closes.
          end: { work, _ in
            work?.cancel()
            await work?.value
          }),
        Part(
          name: "attestations",
          metrics: { [weak metrics = wiring.surroundings.metrics] text in
            let generation = generations.current
            if generation.appCheck != nil || generation.appAttest != nil || generation.play != nil {
              metrics?.appendAttestations(to: &text)
            }
          }),
        Part(
          name: "proofs",
          metrics: { [weak metrics = wiring.surroundings.metrics] text in
            if generations.current.authenticator.mayProve { metrics?.appendProofs(to: &text) }
          }),
      ]
    }
}
