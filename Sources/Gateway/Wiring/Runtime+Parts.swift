// Creates the parts of a server that outlive a configuration.

import Appointments
import AskingGoogle
import Callers
import Configuration
import Deciding
import Delivery
import Gate
import Installations
import Platform
import PushDelivery
import Records
import Sealing
import Serving
import Store
import Talkdesk
import Tokens
import Trust

extension Runtime {
  /// Creates the parts of a server that outlive a configuration, from the configuration at the start.
  init(
    _ configuration: Configuration, _ upstreams: Upstreams, _ store: any Store, kind: String,
    _ keys: StoreKeys?, _ nonces: ProofNonces, _ surroundings: Surroundings, scheduler: (any TimeSource)?
  ) {
    let (log, metrics, clock) = (surroundings.log, surroundings.metrics, surroundings.clock)
    let ledger = AllowanceLedger(store: store)
    let storeClock = StoreClock(clock, store.health)
    // A reload may add appointments, but a store that can save them is only opened at the next start.
    let keepsAppointments = store.sharing != .process || configuration.purpose == .sandbox
    let directory = InstallationDirectory(store: store, clock: storeClock)
    let callbacks = CallbackParts(configuration, store, surroundings, storeClock, scheduler: scheduler)
    let watch = AppointmentWatch(store: store, time: clock)
    let blocked = BlockedNumbers(store: store, key: NumberKey(store: store, keys: keys), clock: storeClock)
    let validation = surroundings.metered(upstreams.transport, .phoneValidation)
    let lists = surroundings.metered(upstreams.transport, .doNotCall)
    self.init(
      tokens: upstreams.tokens,
      desks: ChatDesks(
        transport: upstreams.transport, metrics: metrics, log: log, clock: clock, loops: surroundings.loops),
      storeKind: kind, storeHealth: store.health, ledger: ledger,
      installations: keys.map { keys in
        InstallationService(
          store: store, directory: directory, codes: InstallationCodes(keys: keys), clock: storeClock,
          EndedWithInstallation(callbacks, keys: keys, watch: watch, log: log).consequences)
      },
      stops: StopBoard(store: store, clock: storeClock),
      blocked: blocked,
      remotes: RemotePolicies(
        transport: surroundings.metered(upstreams.transport, .policy), log: log, time: clock),
      throttle: LoginThrottle(
        memory: LoginMemory(store: store, key: keys?.derived(.login, count: 32), clock: storeClock)),
      keys: KeySources(
        transport: surroundings.metered(upstreams.transport, .jwks), time: clock, log: log),
      nonces: nonces, metrics: metrics,
      callbacks: callbacks,
      liveAgents: LiveAgents(transport: upstreams.transport, clock: clock) {
        log.write(
          .warning, "number of available agents unknown: the Live API stream failed", ["detail": $0])
      },
      screening: NumberScreening(
        store: store, key: blocked.key, ledger: ledger, brakes: callbacks.brakes, tokens: upstreams.tokens,
        metrics: metrics, log: log, clock: storeClock
      ) { scope in
        switch scope {
        case .phoneValidation: validation
        case .doNotCall: lists
        }
      },
      appointments: AppointmentParts(
        keys: keepsAppointments ? keys : nil, watch: watch),
      push: keys.map { keys in
        PushParts(
          book: ClaimBook(
            store: store, directory: directory, keys: keys, ledger: ledger, clock: storeClock, log: log),
          notices: NoticeBook(store: store, directory: directory, keys: keys, clock: storeClock),
          kept: KeptSenders(transport: upstreams.transport, connect: { upstreams.apns() }, clock: clock),
          clock: clock, log: log, metrics: metrics)
      },
      google: KeptGoogle(
        transport: upstreams.transport, time: clock,
        log: { log.write(.warning, "Google's attestation service is unavailable", ["reason": $0]) }),
      callbackTransport: upstreams.callbacks)
  }
}

extension CallbackParts {
  /// Creates the parts of callbacks for a store.
  fileprivate init(
    _ configuration: Configuration, _ store: any Store, _ surroundings: Surroundings, _ clock: StoreClock,
    scheduler: (any TimeSource)?
  ) {
    let log = CallbackLog(log: surroundings.log)
    let inHand = CallbacksInHand(time: clock)
    self.init(
      store: RetryingStore(
        store, inHand: inHand, clock: clock, log: log, isClockRight: { store.health.isClockRight }),
      queue: CallbackQueue(concurrency: configuration.callbacks.concurrency, time: clock),
      inHand: inHand, clock: clock, log: log, metrics: surroundings.metrics,
      brakes: BrakeWatch(log: surroundings.log, clock: clock), scheduler: scheduler,
      audit: surroundings.trail)
  }
}
