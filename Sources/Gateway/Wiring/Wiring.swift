// Everything that the parts and handlers of one server use, created in one place.

import Appointments
import Configuration
import Delivery
import Gate
import HTTP
import JOSE
import Outcomes
import Platform
import PushDelivery
import Records
import Sealing
import Serving
import Store
import Stores
import TLS
import Talkdesk
import Tokens
import Trust

/// Everything that the parts and handlers of one server use. Creating it sends nothing and does not listen.
struct Wiring: Sendable {
  let configuration: Configuration
  let clock: any TimeSource
  let surroundings: Surroundings
  let upstreams: Upstreams
  let store: any Store
  /// The clock for the store's rows and for requests.
  let storeClock: StoreClock
  /// The store keys; nil without any. The sandbox uses its own if none are configured.
  let storeKeys: StoreKeys?
  let runtime: Runtime
  /// TLS on the public listener; nil without TLS.
  let tls: TLSListener?
  let generations: Generations
  let watch: FileWatch
  let reloader: Reloader
  let audit: AuditLog
  /// Sends notifications about callbacks; nil without a store key.
  let noticeKeeper: NoticeKeeper?
  /// Finds and handles due appointments; nil without a store key.
  let keeper: AppointmentKeeper?
  /// Processes events about calls.
  let outcomes: OutcomeDesk
  /// Counts the decisions of each minute.
  let activity: RecentActivity
  let attention: AttentionList
  let health: Health

  var log: Log { surroundings.log }

  /// - Parameters:
  ///   - reload: Loads the whole configuration from its sources, as at startup.
  ///   - readStore: Reads the store's setting again.
  ///   - scheduler: The clock that decides when appointments are due; nil to use `clock`.
  init(
    _ configuration: Configuration, _ storeKeys: StoreKeys?, _ surroundings: Surroundings,
    scheduler: (any TimeSource)?, readStore: @escaping @Sendable () -> Configuration.Store?,
    reload: @escaping @Sendable () throws(ConfigurationErrors) -> LoadedConfiguration
  ) throws(StartError) {
    self.configuration = configuration
    self.storeKeys = storeKeys
    self.surroundings = surroundings
    let (sink, log, metrics) = (surroundings.sink, surroundings.log, surroundings.metrics)
    clock = surroundings.clock
    upstreams = try Upstreams(configuration, surroundings)
    let opened = configuration.store.open(clock: clock, reading: readStore)
    store = opened.store
    storeClock = StoreClock(clock, store.health)
    runtime = Runtime(
      configuration, upstreams, store, kind: configuration.store.kind, storeKeys, Self.nonces(storeKeys),
      surroundings, scheduler: scheduler)
    tls = Self.listener(configuration, clock)
    generations = Generations(Generation(configuration, number: 1, runtime))
    metrics.configurationLoaded(at: clock.unixTime)
    watch = FileWatch(configuration.files)
    reloader = Reloader(
      load: reload, generations: generations, runtime: runtime,
      upstream: { [transport = upstreams.transport, clock] in
        try TalkdeskID($0, transport: transport, clock: clock)
      },
      listener: tls, watch: watch, useLogin: opened.useLogin, log: log, clock: clock)

    audit = AuditLog(sink: sink, clock: clock, metrics: metrics, log: log, trail: surroundings.trail)
    noticeKeeper = runtime.push.map { [runtime, generations] in NoticeKeeper($0, runtime, generations) }
    keeper = storeKeys.map { [runtime, generations, audit, noticeKeeper] keys in
      AppointmentKeeper(runtime, generations, keys, audit, log, notices: noticeKeeper)
    }
    outcomes = OutcomeDesk(
      store: store, clock: storeClock, audit: audit, log: log,
      settings: { [generations] in generations.current.configuration.outcomes },
      onOutcome: { [watch = runtime.appointments.watch] in watch.changed($0) })
    activity = RecentActivity(metrics: metrics, clock: clock)
    attention = AttentionList(
      runtime, generations, unknown: UnknownRecords(store: store, clock: clock), tls: tls,
      lastReload: { [reloader] in reloader.last }, lostLines: surroundings.lostLines,
      overdue: { [keeper] in keeper?.counts?.overdue ?? 0 }, audit: surroundings.trail, clock: clock,
      log: log)
    health = Health(
      tokens: upstreams.tokens, store: store.health, generations: generations, attention: attention,
      audit: surroundings.trail)
  }

  private static func listener(_ configuration: Configuration, _ clock: any TimeSource) -> TLSListener? {
    do throws(TLSFailure) {
      return try (configuration.listen.tls?.identity).map { identity throws(TLSFailure) in
        try TLSListener(identity, time: clock)
      }
    } catch {
      preconditionFailure("a loaded TLS identity that cannot serve: \(error)")
    }
  }

  /// The nonces of key proofs: derived from the store keys, or without any, from a random key until
  /// `prepare`.
  private static func nonces(_ keys: StoreKeys?) -> ProofNonces {
    if let keys { return ProofNonces(keys: keys.all.map { $0.derived(.proofNonce, count: 32) }) }
    do throws(OpenSSLError) { return try ProofNonces() } catch {
      preconditionFailure("OpenSSL has no randomness: \(error)")
    }
  }
}
