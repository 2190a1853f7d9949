// The parts that the handlers of clients' requests use, and steps that several handlers share.

import API
package import Appointments
package import Delivery
package import Gate
package import Installations
package import Outcomes
import Platform
package import Records
package import Serving
package import Store
package import Tokens

/// The parts that the handlers of clients' requests use. Each handler is an extension, in the folder of its
/// subject.
package final class Handlers: Sendable {
  /// The generations of the configuration. The current one serves new requests.
  package let generations: Generations
  package let tokens: TokenSource
  package let prepared: PreparedTokens
  package let audit: AuditLog
  package let log: Log
  package let clock: StoreClock
  package let store: any Store
  /// Starts, changes and ends callbacks. `callbacks.store` resolves changes that a failure of the store left
  /// in doubt.
  package let callbacks: CallbackParts
  package let appointments: AppointmentParts
  /// Handles due appointments; nil without a store key.
  package let keeper: AppointmentKeeper?
  /// Accepts Talkdesk's events about calls.
  package let outcomes: OutcomeDesk

  /// - Parameter loops: The number of event loops that handle requests.
  package init(
    generations: Generations, tokens: TokenSource, loops: Int, audit: AuditLog, log: Log,
    clock: StoreClock, store: any Store, callbacks: CallbackParts, appointments: AppointmentParts,
    keeper: AppointmentKeeper?, outcomes: OutcomeDesk
  ) {
    self.generations = generations
    self.tokens = tokens
    prepared = PreparedTokens(loops: loops)
    self.audit = audit
    self.log = log
    self.clock = clock
    self.store = store
    self.callbacks = callbacks
    self.appointments = appointments
    self.keeper = keeper
    self.outcomes = outcomes
  }
}

extension Handlers {
  /// In strict mode, writes an audit intent and waits until it is on the disk. Call this before an action
  /// that is possible only once, so that a request that strict mode refuses does not use it up.
  ///
  /// - Throws: `audit_unavailable`.
  func intend(_ record: AuditRecord) async throws(Problem) {
    guard await audit.trail?.intends(AuditIntent(record)) != false else { throw .noAudit }
  }

  /// Logs why a rule refused a request, at level debug: for operators who investigate one request.
  package func logRefusal(_ denial: Denial, of facts: Facts, by policy: Policy, _ context: RequestContext) {
    guard log.isEnabled(.debug), let reason = policy.reason(for: denial, of: facts) else { return }
    RequestContext.$current.withValue(context) {
      log.write(
        .debug, "a rule refused the request",
        ["rule": denial.rule ?? "", "code": denial.code.rawValue, "reason": reason])
    }
  }

  /// Returns a check that the installation behind a waiting callback or ticket was neither revoked nor
  /// enrolled again. If
  /// the store cannot answer, the server sends nothing: otherwise the revocation of a lost phone would have
  /// no effect while the store fails.
  package func recheck(
    _ installation: Installation, _ desk: InstallationService, _ context: RequestContext
  ) -> @Sendable () async -> Undelivered? {
    { [log = callbacks.log] in
      do throws(StoreError) {
        return try await desk.directory.holds(installation) ? nil : .revoked
      } catch {
        log.storeFailed(error, doing: "recheck", context)
        return .unchecked
      }
    }
  }
}
