// Lists the present problems for the status, the operator page, `callgate status` and readiness.

import Callers
import Configuration
import Gate
package import Platform
package import Records
import Store
import Synchronization
package import TLS
import Tokens

/// The list of present problems. Reading the list sends no request and does not query the store.
///
/// To add a kind of problem, add a case to `Attention.Code` with its section of docs/operate/runbook.md, and
/// a function in a file beside this one that `entries()` calls.
package final class AttentionList: Sendable {
  /// Whether the server sends callbacks.
  package enum Callbacks: String, CaseIterable, Sendable {
    /// The server sends callbacks.
    case open
    /// Talkdesk, its credential, the service that signs (Vault or OpenBao) or the store fails, this machine's
    /// clock is wrong, or audit lines that strict mode requires cannot be written.
    case failing
    /// A brake, a quota, a rate or a stop refuses some or all callbacks.
    case held
    /// The opening hours of every app are closed now, or there is no Talkdesk account.
    case closed
  }

  let runtime: Runtime
  let generations: Generations
  let unknown: UnknownRecords
  /// The public listener with TLS, if the server has one.
  let tls: TLSListener?
  /// The last reload; nil before the first.
  let lastReload: @Sendable () -> Reloader.Outcome?
  /// How many log and audit lines were lost.
  let lostLines: @Sendable () -> Int
  /// How many appointments are overdue.
  let overdue: @Sendable () -> Int
  /// Writes the audit lines if they form a chain or have their own file. Nil if they go through the log's
  /// sink.
  let audit: AuditTrail?
  let clock: any TimeSource
  let log: Log
  /// Whether the log has named a proxy that is not trusted.
  let hasNamedProxy = Atomic<Bool>(false)
  /// The number of lost lines when it was last read, and when it last increased.
  let losses = Mutex<(count: Int, at: UnixTime?)>((0, nil))

  package init(
    _ runtime: Runtime, _ generations: Generations, unknown: UnknownRecords, tls: TLSListener?,
    lastReload: @escaping @Sendable () -> Reloader.Outcome?, lostLines: @escaping @Sendable () -> Int,
    overdue: @escaping @Sendable () -> Int, audit: AuditTrail?, clock: any TimeSource, log: Log
  ) {
    self.runtime = runtime
    self.generations = generations
    self.unknown = unknown
    self.tls = tls
    self.lastReload = lastReload
    self.lostLines = lostLines
    self.overdue = overdue
    self.audit = audit
    self.clock = clock
    self.log = log
  }

  var troubles: Troubles { runtime.metrics.troubles }

  /// The present problems, the most urgent first.
  package func entries() -> [Attention] {
    let generation = generations.current
    let now = clock.unixTime
    let found: [Attention] =
      store(now) + auditFile(now) + machineClock(now)
      + talkdeskID(generation, now) + callbackAPI(generation, now) + screening(generation)
      + stops(now) + limits(generation, now)
      + desks(generation, now) + providers(generation, now) + issuers(generation, now)
      + attestations(generation, now)
      + configuration(now) + untrustedProxy(generation, now) + appointments(now) + certificate(now) + log(now)
      + unknownRecords(now)
    return Array(found.sorted { ($0.code.rank, $0.since) < ($1.code.rank, $1.since) }.prefix(Attention.most))
  }

  /// Whether the server sends callbacks, given these problems and the opening hours.
  /// - Parameter isOpen: Whether any app is open now.
  package func callbacks(_ entries: [Attention], isOpen: Bool) -> Callbacks {
    let generation = generations.current
    let codes = Set(entries.map(\.code))
    // Another scope may fail while Talkdesk accepts callbacks.
    let lacksToken =
      generation.configuration.talkdesk.upstream != nil
      && generation.scopes.callbackFailure(runtime.tokens.status) != nil
    guard codes.isDisjoint(with: [.store, .callbackAPI]), !lacksToken,
      runtime.storeHealth.isClockRight, audit?.isRequired != true || !codes.contains(.audit)
    else { return .failing }
    if codes.contains(.brake) || holdsCallbacks(generation, clock.unixTime) { return .held }
    return isOpen && generation.configuration.talkdesk.upstream != nil ? .open : .closed
  }

  /// Reads every state each second until its task is canceled, so that the start of each problem is known.
  package func keepRead() async {
    async let records: Void = unknown.keepRead()
    repeat { _ = entries() } while await clock.hasSlept(until: clock.now + .seconds(1))
    await records
  }

  /// The point in time after a duration; nil for no duration.
  func after(_ duration: Duration?, _ now: UnixTime) -> UnixTime? {
    duration.map { UnixTime(seconds: now.seconds.addingClamped(Int64($0.wholeSecondsRoundedUp))) }
  }
}
