// The running server: creates, starts, drains and stops all its parts in order.

import API
import Admin
import Appointments
public import Configuration
import Delivery
import Gate
import HTTP
public import HTTPServer
import Handling
import JOSE
import Outcomes
public import Platform
import PushDelivery
import Records
import Sealing
import Serving
import Store
import Stores
import Synchronization
import TLS
import Talkdesk
import Tokens
import Trust
import Upstream

/// The running server: made from a configuration, started, drained and ended.
public final class Service: Sendable {
  private let configuration: Configuration
  private let clock: any TimeSource
  private let surroundings: Surroundings
  private let upstreams: Upstreams
  private let store: any Store
  /// The sandbox makes one where none is configured.
  private let storeKeys: StoreKeys?
  let runtime: Runtime
  /// TLS on the public listener; nil without TLS.
  private let tls: TLSListener?
  private let generations: Generations
  private let health: Health
  private let watch: FileWatch
  private let reloader: Reloader
  /// Carries appointments out; nil without a store key.
  private let keeper: AppointmentKeeper?
  private let anchors: AnchorKeeper?
  /// Sends notices of callbacks; nil without a store key.
  private let noticeKeeper: NoticeKeeper?
  /// Takes events of calls.
  private let outcomes: OutcomeDesk
  /// Asks for the report of calls.
  private let report: NightlyReport
  /// Counts the decisions of each minute.
  private let activity: RecentActivity
  private let attention: AttentionList
  private let server: Server
  /// The operators' own listener, if there is one.
  private let adminServer: Server?
  /// The connection limit, if the limit on descriptors allows fewer connections than configured.
  private let cappedConnections: Int?
  private let jobs = Mutex<Jobs?>(nil)
  private var log: Log { surroundings.log }

  /// Makes a server. It listens on nothing and sends no request before `start`.
  ///
  /// - Parameters:
  ///   - configuration: Loaded for serving.
  ///   - reload: Loads the configuration again, as at the start.
  ///   - front: Wraps the gateway's handler, as the sandbox does.
  ///   - loops: The loops to run on.
  ///   - inherited: A listening descriptor to take over instead of binding the configured address.
  ///   - clock: The clock of everything that the server judges, logs and shows.
  ///   - scheduler: The clock by which appointments are due; nil for the same.
  ///   - descriptorLimit: How many descriptors the process may open; connections are capped to fit it.
  ///   - isColoured: Whether stdout is a terminal that shows colours.
  ///   - write: Writes to stdout; see `LogSink`.
  public init(
    configuration: Configuration, loops: EventLoopGroup, descriptorLimit: Int, inherited: Int32? = nil,
    clock: any TimeSource = SystemClock(), scheduler: (any TimeSource)? = nil,
    reload: @escaping @Sendable () throws(ConfigurationErrors) -> LoadedConfiguration,
    front: (any RequestHandler, SandboxControls) -> any RequestHandler = { handler, _ in handler },
    isColoured: Bool = false,
    write: @escaping @Sendable ([UInt8]) -> Bool
  ) throws(StartError) {
    self.configuration = configuration
    self.clock = clock
    storeKeys = configuration.storeKeys ?? (configuration.purpose == .sandbox ? .sandbox : nil)
    surroundings = try Surroundings(
      configuration, loops: loops.loops.count, clock: clock, isColoured: isColoured, storeKeys: storeKeys,
      write: write)
    let (sink, log, metrics) = (surroundings.sink, surroundings.log, surroundings.metrics)
    upstreams = try Upstreams(configuration, surroundings)
    let (transport, tokens) = (upstreams.transport, upstreams.tokens)

    store = configuration.store.open()
    runtime = Runtime(
      configuration, upstreams, store, kind: configuration.store.kind, storeKeys, Self.nonces(storeKeys),
      surroundings, scheduler: scheduler)
    tls = Self.listener(configuration, clock)

    generations = Generations(Generation(configuration, number: 1, runtime))
    metrics.configurationLoaded(at: clock.unixTime)
    watch = FileWatch(configuration.files)
    reloader = Reloader(
      load: reload, generations: generations, runtime: runtime,
      upstream: { try TalkdeskID($0, transport: transport, clock: clock) },
      listener: tls, watch: watch, log: log, clock: clock)

    let audit = AuditLog(sink: sink, clock: clock, metrics: metrics, log: log, trail: surroundings.trail)
    noticeKeeper = runtime.push.map { [runtime, generations] in NoticeKeeper($0, runtime, generations) }
    keeper = storeKeys.map { [runtime, generations, noticeKeeper] keys in
      AppointmentKeeper(runtime, generations, keys, audit, log, notices: noticeKeeper)
    }
    outcomes = OutcomeDesk(
      store: store, clock: clock, audit: audit, log: log,
      settings: { [generations] in generations.current.configuration.outcomes },
      onOutcome: { [watch = runtime.appointments.watch] in watch.changed($0) })
    anchors = surroundings.trail.map { [store] in AnchorKeeper($0, in: store) }
    report = NightlyReport(outcomes, runtime, generations, transport, log)
    activity = RecentActivity(metrics: metrics, clock: clock)

    attention = AttentionList(
      runtime, generations, unknown: UnknownRecords(store: store, clock: clock), tls: tls,
      lastReload: { [reloader] in reloader.last }, lostLines: { sink.droppedLines },
      overdue: { [keeper] in keeper?.counts?.overdue ?? 0 }, audit: surroundings.trail, clock: clock)
    health = Health(
      tokens: tokens, store: store.health, generations: generations, attention: attention,
      audit: surroundings.trail)

    var limits = ServerLimits(configuration.limits)
    let fitting = ServerLimits.connections(fitting: descriptorLimit)
    cappedConnections = fitting < limits.connections ? fitting : nil
    limits.connections = min(limits.connections, fitting)
    let administration = Administration(
      generations: generations, runtime: runtime, store: store, reloader: reloader, health: health,
      metrics: MetricsPage(
        metrics: metrics, tokens: tokens, stops: runtime.stops, store: store.health,
        throttle: runtime.throttle, brakes: runtime.callbacks.brakes, generations: generations,
        health: health, sink: sink, connectionLimit: limits.connections),
      audit: audit, activity: activity, attention: attention,
      appRoutes: Set(Endpoint.all.filter { $0.audience == .apps }.map { $0.paths[0] }), keeper: keeper,
      log: log, clock: clock)
    let handlers = Handlers(
      generations: generations, tokens: tokens, loops: loops.loops.count, audit: audit, log: log,
      clock: clock,
      callbacks: runtime.callbacks, appointments: runtime.appointments, keeper: keeper,
      outcomes: outcomes)
    let gateway = Gateway(handlers, health: health, administration: administration)
    let handler = front(gateway, SandboxControls(runtime, generations, administration, transport))

    // A sandbox must not tell browsers that this host name uses TLS for the next year.
    server = Server(
      inherited.map { .inherited(descriptor: $0) }
        ?? .address(
          Self.address(configuration.listen.host, configuration.listen.port),
          sharesPort: configuration.listen.sharePort),
      limits: limits, loops: loops, handler: handler, clock: clock,
      filter: tls?.filter(log: log, metrics: metrics),
      filteredFields: configuration.purpose == .sandbox
        ? [:] : ["Strict-Transport-Security": "max-age=31536000"],
      observer: ServerCounting(metrics: metrics, countsConnections: true))
    adminServer = configuration.admin.listener.map { [health] listener in
      // Operators need few connections, and other clients cannot use them up for the public listener.
      limits.connections = min(limits.connections, 64)
      limits.idleTimeout = min(limits.idleTimeout, .seconds(10))
      limits.closesLongestSilent = true
      return Server(
        address: Self.address(listener.host, listener.port), limits: limits,
        loops: EventLoopGroup(sharing: loops.loops[0]),
        handler: AdminHandler(administration, health, listener.isLoopback ? .loopback : .token),
        observer: ServerCounting(metrics: metrics, countsConnections: false))
    }

    metrics.show(runtime.desks)
    if let tls { metrics.show(tls) }
    if let trail = surroundings.trail { metrics.show(trail) }
    metrics.show(server)
    if let installations = runtime.installations { metrics.show(installations, generations) }
    metrics.showNotices(generations)
    metrics.showAttestations(generations)
    metrics.showProofs(generations)
    if let keeper { metrics.show(keeper) }
    metrics.show(outcomes, generations)
    metrics.showAgents(generations)
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

  private static func address(_ host: String, _ port: UInt16) -> SocketAddress {
    guard let address = SocketAddress(host: host, port: port) else {
      preconditionFailure("a configured host that is not an address")
    }
    return address
  }

  /// The nonces of proofs: by the store keys, or until `prepare` by a random key.
  private static func nonces(_ keys: StoreKeys?) -> ProofNonces {
    if let keys { return ProofNonces(keys: keys.all.map { $0.derived(.proofNonce, count: 32) }) }
    do throws(OpenSSLError) { return try ProofNonces() } catch {
      preconditionFailure("OpenSSL has no randomness: \(error)")
    }
  }

  /// Opens the store and updates it, and fetches the keys for callers' tokens. Call it before `start`.
  public func prepare() async throws(StartError) {
    try await useStoreKeys()
    do throws(StoreError) {
      // Before the first request: records that an ended process left `pending` become `unknown`.
      if store.health.isClockRight {
        runtime.recovered(try await store.recoverCallbacks(at: Instant(clock.unixTime)))
      }
      // Without a store key instances recognise each other's nonces by a key that the first of them has made.
      if storeKeys == nil {
        let key = try await store.sharedSecret("proof-nonce", or: runtime.nonces.exposedKey())
        runtime.nonces.use(Secret(key))
      }
      // Stops survive a restart.
      try await runtime.stops.refresh()
      await runtime.callbacks.brakes.restore(configuration.policy, runtime.ledger)
    } catch {
      throw .store(kind: runtime.storeKind, StoreFailure(error, of: runtime.storeKind))
    }
    for notice in await configuration.fetchKeys(runtime.keys) {
      log.write(.warning, "configuration notice", ["notice": "\(notice)"])
    }
  }

  /// Brings the store up to date, and takes its keys into use if they are the ones that it knows.
  private func useStoreKeys() async throws(StartError) {
    let ruling: KeyRuling
    do throws(StoreError) {
      try await store.migrate(
        MigrationWait(.seconds(90)) { [log] in log.write(.info, "schema upgrade", ["progress": $0]) })
      // A clock that is wrong is known before the first request, and before anything is judged by it.
      try await store.ping()
      let now = Instant(clock.unixTime)
      // By a wrong clock no value counts as forgotten.
      let judged = store.health.isClockRight ? now : Instant(seconds: 0)
      ruling = try await store.updateKeys(at: now) { [storeKeys] in
        KeyRuling($0, holding: storeKeys, at: judged)
      }
    } catch {
      throw .store(kind: runtime.storeKind, StoreFailure(error, of: runtime.storeKind))
    }
    switch ruling {
    case .refused(let refusal): throw .store(kind: runtime.storeKind, StoreFailure(refusal))
    case .usable(let changes): log.write(changes)
    }
  }

  /// How many clients are connected, and how many requests wait for their answers.
  var connections: (open: Int, waiting: Int) { (server.connectionCount, server.deferredCount) }

  /// The scheme of the public address: `http` or `https`.
  public var scheme: String { tls == nil ? "http" : "https" }

  /// Begins to listen and returns the public address, and that of the admin listener, if there is one.
  public func start() throws(StartError) -> (clients: SocketAddress, operators: SocketAddress?) {
    var operators: SocketAddress?
    if let adminServer, let listener = configuration.admin.listener {
      let address = try Self.start(adminServer, listener.host, listener.port)
      operators = address
      // Kept until the log is written, so that the public address is the first line.
      log.write(.info, "admin listener started", ["address": "\(address)"])
    }
    let address = try Self.start(server, configuration.listen.host, configuration.listen.port)
    store.health.observe { [log, runtime, clock] event in
      StoreLog(log: log, kind: runtime.storeKind).write(event)
      if case .unavailable = event { runtime.metrics.troubles.began(.store, at: clock.unixTime) }
    }
    let work = Upkeep(
      store: store, board: runtime.stops, clock: clock,
      inHand: { [runtime] in runtime.callbacks.store.overdue(at: $0) },
      recovered: { [runtime] in runtime.recovered($0) },
      ended: { [log] stops in for stop in stops { log.write(stop, "a stop has ended") } },
      saved: { [log] in log.write($0, "the store has saved a stop that it could not save before") },
      unused: { [generations] in generations.current.unused(at: $0) })
    jobs.withLock {
      [runtime, generations, activity, attention, keeper, noticeKeeper, outcomes, anchors, report] in
      $0 = Jobs(
        work, runtime, generations, activity, attention, keeper, noticeKeeper, outcomes, anchors,
        report: report, issuer: { runtime.tokens.issuer }, clock: clock)
    }
    watch.start { [reloader] in
      Task { await reloader.reload(because: "a changed file") }
    }
    return (address, operators)
  }

  private static func start(_ server: Server, _ host: String, _ port: UInt16) throws(StartError)
    -> SocketAddress
  {
    do throws(SystemError) {
      return try server.start()
    } catch {
      throw .listen(host: host, port: port, error)
    }
  }

  /// Reloads the configuration. If it has no mistake, it serves all requests after the return. Otherwise the log shows the mistake.
  /// - Parameter reason: The reason of the reload, for the log.
  /// - Returns: Whether the new configuration is in use.
  @discardableResult
  public func reload(because reason: String) async -> Bool {
    await reloader.reload(because: reason).isSuccess
  }

  /// Opens the file of audit lines anew, after it was renamed.
  public func reopenAuditFile() { surroundings.trail?.reopen() }

  /// Begins to write the log. Separate from `start`, so that the line with the public address comes first.
  public func startLog() {
    surroundings.sink.start { [log] lost in
      log.line(.warning, "log lines were lost because the reader was too slow", ["lost": String(lost)])
    }
    surroundings.trail?.start()
    log.write(startOf: configuration, cappedConnections: cappedConnections)
  }

  /// Fails the readiness check, takes requests for `drain_delay`, finishes running requests within `drain_timeout`, and ends
  /// everything.
  public func drain() async {
    log.write(.info, "draining: finishing running requests")
    health.beginDrain()
    server.beginDrain()
    runtime.appointments.watch.end()
    watch.stop()
    let limits = generations.current.configuration.limits
    if limits.drainDelay > .zero {
      // Cancellation would only mean that draining goes faster.
      try? await clock.sleep(until: clock.now + limits.drainDelay)
    }
    // It still took bookings.
    keeper?.stop()
    noticeKeeper?.stop()
    server.stopAccepting()
    // Shortly before the end, while the server can still respond to clients.
    let end = clock.now + (limits.drainTimeout - min(.seconds(1), limits.drainTimeout / 10))
    let callbacksEnd = endCallbacks(at: end)
    await server.shutdown(within: limits.drainTimeout)
    // A callback goes on after its client has closed the connection.
    await runtime.callbacks.inHand.finished(within: max(end - clock.now, .zero), clock)
    callbacksEnd.cancel()
    runtime.callbacks.queue.shutdown()
    await upstreams.callbacks.shutdown()
    // Each callback has its outcome now and saves it.
    await runtime.callbacks.inHand.finished(within: .seconds(5), clock)
    await adminServer?.shutdown(within: .seconds(1))
    upstreams.tokens.shutdown()
    let jobs = jobs.withLock { $0 }
    await jobs?.notices.value
    await upstreams.transport.shutdown()
    await jobs?.end()
    runtime.callbacks.store.end()
    await anchors?.end()
    await store.close()
    log.write(.info, "stopped")
    // A reader that does not read must not keep the process from ending.
    _ = surroundings.sink.close(within: .seconds(1))
  }
}

extension Service {
  /// Ends callbacks at a time: sent ones become unknown, unsent ones are refused, and both get a response.
  private func endCallbacks(at end: MonotonicTime) -> Task<Void, Never> {
    Task { [clock, runtime, upstreams] in
      // After a cancellation nothing runs any more.
      guard await clock.hasSlept(until: end) else { return }
      runtime.callbacks.queue.shutdown()
      await upstreams.callbacks.shutdown()
    }
  }
}
