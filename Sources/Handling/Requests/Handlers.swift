// What the handlers of clients' requests work with, and two steps that they share.

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

/// What the handlers of clients' requests work with. Each handler is an extension of it, in the target of its subject.
package final class Handlers: Sendable {
  /// The current generation.
  package let generations: Generations
  package let tokens: TokenSource
  package let prepared: PreparedTokens
  package let audit: AuditLog
  package let log: Log
  package let clock: StoreClock
  package let store: any Store
  /// What begins, changes and ends callbacks. `callbacks.store` finds out what a failure of the store has left in doubt.
  package let callbacks: CallbackParts
  package let appointments: AppointmentParts
  /// Carries appointments out; nil without a store key.
  package let keeper: AppointmentKeeper?
  /// Takes events of calls.
  package let outcomes: OutcomeDesk

  /// - Parameter loops: How many loops handle requests.
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
  /// In strict mode, writes what a request is about to do and waits until that is on the disk. Call it before what can be done only
  /// once: a request that strict mode refuses must not spend it.
  ///
  /// - Throws: `audit_unavailable`.
  func intend(_ record: AuditRecord) async throws(Problem) {
    guard await audit.trail?.intends(AuditIntent(record)) != false else { throw .noAudit }
  }

  /// Says in the log why a rule refused: for operators who look into one request.
  package func logRefusal(_ denial: Denial, of facts: Facts, by policy: Policy, _ context: RequestContext) {
    guard log.isEnabled(.debug), let reason = policy.reason(for: denial, of: facts) else { return }
    RequestContext.$current.withValue(context) {
      log.write(
        .debug, "a rule refused the request",
        ["rule": denial.rule ?? "", "code": denial.code.rawValue, "reason": reason])
    }
  }

  /// Checks that the installation of a waiting callback was neither revoked nor enrolled again. If the store cannot say, the server
  /// sends nothing: otherwise the revocation of a lost phone would not hold while the store fails.
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
