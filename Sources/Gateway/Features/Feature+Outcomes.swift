// Endpoint and parts for call outcomes: Talkdesk's events, and its nightly report.

import API
import Configuration
import Gate
import HTTP
import HTTPServer
import Handling
import Metrics
import Outcomes
import Platform
import Serving
import Store
import Synchronization
import Talkdesk
import Tokens

extension Feature {
  /// The feature with the endpoint for Talkdesk's events, and with the work that matches calls to callbacks.
  static let outcomes = Feature(
    endpoints: [
      ServedEndpoint(
        "/hooks/talkdesk/{secret}", for: .everybody,
        .clients(.hook) { handlers, request, parameters, exchange in
          handlers.takeEvent(request.percentDecoded(parameters[0]) ?? "", request, &exchange)
        })
    ]) { wiring in
      let report = NightlyReport(wiring)
      return [
        Part(
          name: "outcomes", work: { [outcomes = wiring.outcomes] in await outcomes.run() },
          metrics: { [generations = wiring.generations, metrics = wiring.outcomes.metrics] in
            if generations.current.configuration.outcomes != nil { metrics.append(to: &$0) }
          }),
        Part(
          name: "report of calls", work: report.run,
          end: { work, _ in
            work?.cancel()
            await work?.value
            await report.end()
          }),
      ]
    }
}

extension NightlyReport {
  /// Creates a report that is downloaded from Talkdesk's API with the current configuration.
  fileprivate convenience init(_ wiring: Wiring) {
    let (runtime, generations) = (wiring.runtime, wiring.generations)
    let (clock, transport) = (wiring.clock, wiring.upstreams.transport)
    self.init(
      wiring.outcomes, wiring.store, clock: wiring.storeClock, log: wiring.log,
      isClockRight: { runtime.storeHealth.isClockRight },
      settings: { generations.current.configuration.outcomes },
      fetch: { (from, to, hold, take) throws(NightlyReport.Failure) in
        let configuration = generations.current.configuration
        guard let base = configuration.outcomes?.url ?? configuration.talkdesk.upstream?.apiURL else {
          throw NightlyReport.Failure("no Talkdesk credential is configured")
        }
        let issuer = runtime.tokens.issuer
        let kept = Mutex<AccessToken?>(nil)
        let api = ReportAPI(baseURL: base, transport: transport, clock: clock) {
          () throws(ReportAPI.Failure) -> AccessToken in
          if let token = kept.withLock({ $0 }), let rest = token.remaining(at: clock.now), rest > .seconds(60)
          {
            return token
          }
          do throws(TokenExchangeError) {
            let token = try await issuer.exchange(
              scope: ReportAPI.scope, deadline: clock.now + .seconds(20))
            kept.withLock { $0 = token }
            return token
          } catch {
            throw .unavailable("Talkdesk ID: \(error)")
          }
        }
        do throws(ReportAPI.Failure) {
          try await api.report(from: from.rfc3339, to: to.rfc3339, hold: hold, take: take)
        } catch {
          throw NightlyReport.Failure(error.words)
        }
      })
  }
}
