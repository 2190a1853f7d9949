// The jobs of appointments and notices, made from the parts of a server.

import Appointments
import Configuration
import Delivery
import Gate
import HTTP
import Outcomes
import Platform
import PushDelivery
import Records
import Sealing
import Serving
import Store
import Synchronization
import Talkdesk
import Tokens

extension AppointmentKeeper {
  /// The keeper of a server's appointments.
  convenience init(
    _ runtime: Runtime, _ generations: Generations, _ keys: StoreKeys, _ audit: AuditLog, _ log: Log,
    notices: NoticeKeeper?
  ) {
    let parts = runtime.callbacks
    let carrier = AppointmentCarrier(
      parts, ledger: runtime.ledger, keys: keys, watch: runtime.appointments.watch, audit: audit, log: log,
      setting: { generations.current.handling(runtime) },
      onAccepted: { notices?.announce($0, from: $1) })
    self.init(
      store: parts.store, clock: parts.scheduler, inHand: parts.inHand,
      isClockRight: { runtime.storeHealth.isClockRight },
      lateness: { generations.current.appointments?.late }, handle: carrier.handle)
  }
}

extension NightlyReport {
  /// The nightly report of a server, from Talkdesk's API.
  convenience init(
    _ desk: OutcomeDesk, _ runtime: Runtime, _ generations: Generations, _ transport: any HTTPTransport,
    _ log: Log
  ) {
    let clock = runtime.callbacks.clock
    self.init(
      desk, runtime.ledger, clock: clock, log: log,
      settings: { generations.current.configuration.outcomes },
      fetch: { (from, to, take) throws(NightlyReport.Failure) in
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
          try await api.report(from: from.rfc3339, to: to.rfc3339, take: take)
        } catch {
          throw NightlyReport.Failure(error.words)
        }
      })
  }
}

extension NoticeKeeper {
  /// The keeper of a server's notices of callbacks.
  convenience init(_ push: PushParts, _ runtime: Runtime, _ generations: Generations) {
    self.init(
      push.notices, push.book, scheduler: runtime.callbacks.scheduler, metrics: runtime.metrics,
      isClockRight: { runtime.storeHealth.isClockRight },
      setting: {
        guard let push = generations.current.push, let notices = generations.current.configuration.notices
        else { return nil }
        return Setting(senders: push.senders, texts: notices.texts)
      })
  }
}
