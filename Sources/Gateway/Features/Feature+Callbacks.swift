// Endpoints and parts for callbacks: immediate callbacks and appointments.

import API
import Admin
import Appointments
import Configuration
import Delivery
import HTTP
import HTTPServer
import Handling
import Metrics
import Platform
import Records
import Serving
import Store

extension Feature {
  /// The feature with the endpoints for callbacks, and with the background work for appointments.
  static let callbacks = Feature(
    endpoints: [
      ServedEndpoint(
        "/calls/callback", for: .apps, auditing: .known(.callback),
        .clients(.callbacks) { handlers, request, _, exchange in handlers.call(request, &exchange) }),
      ServedEndpoint(
        "/callbacks", for: .apps, auditing: .some([.post: .callback]),
        .clients(.callbackList) { handlers, request, _, exchange in handlers.listCallbacks(request, &exchange)
        },
        .clients(.callbacks.alias(of: "/calls/callback")) { handlers, request, _, exchange in
          handlers.call(request, &exchange)
        }),
      // An undecodable ID is treated as an unknown one.
      ServedEndpoint(
        "/callbacks/{id}", for: .apps, auditing: .some([.patch: .change, .delete: .cancel]),
        .clients(.callback) { handlers, request, parameters, exchange in
          handlers.showCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
        },
        .clients(.cancelCallback) { handlers, request, parameters, exchange in
          handlers.cancelCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
        },
        .clients(.changeCallback) { handlers, request, parameters, exchange in
          handlers.moveCallback(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
        }),
    ]) { wiring in
      let (clock, appointments) = (wiring.clock, wiring.runtime.appointments)
      let generations = wiring.generations
      let origins = appointments.keys.map {
        OriginKeeper(store: wiring.store, keys: $0, clock: clock)
      }
      return [
        Part(
          name: "appointments",
          work: { [keeper = wiring.keeper] in
            async let noting: Void? = origins?.run()
            async let counting: Void? = keeper?.keepCounted()
            await keeper?.run()
            await counting
            await noting
          },
          metrics: { [weak keeper = wiring.keeper, weak metrics = wiring.surroundings.metrics] text in
            if generations.current.configuration.provesNumbers { metrics?.numberProofs.append(to: &text) }
            if generations.current.configuration.numbers?.screening != nil {
              metrics?.screenings.append(to: &text)
            }
            guard let counts = keeper?.counts else { return }
            text.family(
              "callgate_appointments", .gauge,
              "Appointments that are scheduled or in progress.")
            text.sample([("state", "scheduled")], counts.scheduled)
            text.sample([("state", "pending")], counts.pending)
            text.family(
              "callgate_appointments_overdue", .gauge,
              "Appointments that no instance has started five seconds after they were due.")
            text.sample(counts.overdue)
          },
          drain: { [keeper = wiring.keeper] step in
            switch step {
            case .announced: appointments.watch.end()
            // Do not stop the keeper earlier, because until this step requests may book appointments.
            case .closed: keeper?.stop()
            }
          })
      ]
    }
}
