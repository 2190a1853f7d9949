// Endpoints and parts for push notifications: devices, tokens by push, and notifications about callbacks.

import API
import Configuration
import HTTP
import HTTPServer
import Handling
import Metrics
import Notices
import PushDelivery
import Records
import Serving
import Store

extension Feature {
  /// The feature with the endpoints for push notifications by FCM, APNs and webhooks, and with the work that
  /// sends them.
  static let notices = Feature(
    endpoints: [
      ServedEndpoint(
        "/installations/self/push", for: .apps,
        .clients(.registerDevice) { handlers, request, _, exchange in
          handlers.registerDevice(request, &exchange)
        },
        .clients(.removeDevice) { handlers, request, _, exchange in handlers.removeDevice(request, &exchange)
        }),
      // An undecodable ID is treated as an unknown one.
      ServedEndpoint(
        "/notices/{id}", for: .apps,
        .clients(.notice) { handlers, request, parameters, exchange in
          handlers.showNotice(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
        }),
    ]) { wiring in
      let (runtime, generations) = (wiring.runtime, wiring.generations)
      return [
        Part(
          name: "claims",
          work: { await runtime.push?.book.keepLapsing(while: { runtime.storeHealth.isClockRight }) }),
        Part(
          name: "notices",
          work: { [keeper = wiring.noticeKeeper] in await keeper?.run() },
          metrics: { [weak metrics = wiring.surroundings.metrics] in
            metrics?.appendNotices(generations.current, to: &$0)
          },
          drain: { [keeper = wiring.noticeKeeper] in if $0 == .closed { keeper?.stop() } },
          // Notifications that are being sent get a few seconds.
          end: { work, _ in await work?.value }),
      ]
    }
}

extension ServiceMetrics {
  /// Appends the metrics of notifications and their providers, if any are configured.
  fileprivate func appendNotices(_ generation: Generation, to text: inout MetricsText) {
    if generation.configuration.gms != nil { ignoredDevices.append(to: &text) }
    guard let senders = generation.push?.senders, !senders.platforms.isEmpty else { return }
    notices.append(to: &text)
    callbackNotices.append(to: &text)
    noticeLateness.append(to: &text)
    text.family(
      "callgate_notice_sender_stopped", .gauge, "Whether a push provider rejects this server's credentials.")
    for platform in senders.platforms {
      text.sample([("provider", platform.rawValue)], senders.isStopped(platform) ? 1 : 0)
    }
    text.family(
      "callgate_notice_sender_resting", .gauge,
      "Whether a push provider has asked for a pause.")
    for platform in senders.platforms {
      text.sample([("provider", platform.rawValue)], senders.rest(platform) == nil ? 0 : 1)
    }
  }
}
