// The running server: creates, starts, drains and stops all its parts in order.

import API
import Admin
import Appointments
import Callers
public import Configuration
import Deciding
import Delivery
import Gate
import HTTP
public import HTTPServer
import Installations
import JOSE
import Metrics
import Notices
public import Platform
import PushDelivery
import Records
import SQLiteStore
import Sealing
import Serving
import Store
import Synchronization
import TLS
import Talkdesk
import Tokens
import Upstream

/// The running server: made from a configuration, started, drained and ended.
public final class Service: Sendable {
  private let configuration: Configuration
  /// TLS on the public listener; nil without TLS.
  private let tls: TLSListener?
  private let clock: any TimeSource
  private let loops: EventLoopGroup
  private let transport: CurlTransport
  private let callbackTransport: CurlTransport
  private let tokens: TokenSource
  private let store: any Store
  /// The sandbox makes one where none is configured.
  private let storeKeys: StoreKeys?
  /// Nil without a store key.
  private let installations: InstallationDesk?
  let runtime: Runtime
  private let upkeep = Mutex<Task<Void, Never>?>(nil)
  /// Keeps the last uses of installations, and counts them. Counts the decisions of each minute.
  private let counting = Mutex<Task<Void, Never>?>(nil)
  /// Carries appointments out; nil without a store key.
  private let keeper: AppointmentKeeper?
  private let keeping = Mutex<Task<Void, Never>?>(nil)
  /// Sends notices of callbacks; nil without a store key.
  private let noticeKeeper: NoticeKeeper?
  private let noticing = Mutex<Task<Void, Never>?>(nil)
  /// Ends claims whose time is over.
  private let lapsing = Mutex<Task<Void, Never>?>(nil)
  private let activity: RecentActivity
  private let keys: KeySources
  private let generations: Generations
  private let reloader: Reloader
  private let watch: FileWatch
  private let health: Health
  private let server: Server
  /// The operators' own listener, if there is one.
  private let adminServer: Server?
  private let sink: LogSink
  /// The connection limit, if the limit on descriptors allows fewer connections than configured.
  private let cappedConnections: Int?
  private let log: Log

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
    self.loops = loops
    // One lane for each loop's audit, one for everything else.
    sink = LogSink(lanes: loops.loops.count + 1, write: write)
    log = Log(
      sink: sink, lane: loops.loops.count, level: configuration.log.level, format: configuration.log.format,
      clock: clock, isColoured: isColoured)

    let metrics = ServiceMetrics(loops: loops.loops.count)
    // The sandbox is on this machine, whatever proxy leads out of it.
    let proxies: ProxySettings? = configuration.purpose == .sandbox ? .direct : nil
    do {
      transport = try CurlTransport(
        TransportSettings(authorities: configuration.authorities, proxies: proxies))
      callbackTransport = try CurlTransport(.callbacks(configuration.authorities, proxies: proxies))
      tokens = TokenSource(
        issuer: try TalkdeskID(configuration.talkdesk.upstream, transport: transport, clock: clock),
        policy: TokenPolicy(configuration.tokens), time: clock,
        observer: TokenWatch(log: log, metrics: metrics, clock: clock))
    } catch {
      throw .upstream("\(error)")
    }

    keys = KeySources(
      transport: MeteredTransport(transport: transport, upstream: .jwks, metrics: metrics, clock: clock),
      time: clock, log: log)
    let policies = MeteredTransport(transport: transport, upstream: .policy, metrics: metrics, clock: clock)
    let location = StoreLocation(configuration.store)
    store = location.store()
    storeKeys = configuration.storeKeys ?? (configuration.purpose == .sandbox ? .sandbox : nil)
    let directory = InstallationDirectory(store: store, clock: clock)
    installations = storeKeys.map { [store, clock] keys in
      InstallationDesk(
        store: store, directory: directory, codes: InstallationCodes(keys: keys), clock: clock)
    }
    // A reload may add appointments, and a store that keeps them is opened at the next start only.
    let keepsAppointments = store.sharing != .process || configuration.purpose == .sandbox
    let desks = ChatDesks(
      transport: transport, metrics: metrics, log: log, clock: clock, loops: loops.loops.count)
    metrics.addPart { [weak desks] in desks?.append(to: &$0) }
    let inHand = CallbacksInHand(time: clock)
    let ledger = AllowanceLedger(store: store)
    let callbackLog = CallbackLog(log: log)
    runtime = Runtime(
      tokens: tokens, desks: desks, storeKind: location.kind, storeHealth: store.health,
      ledger: ledger, installations: installations,
      stops: StopBoard(store: store, clock: clock),
      remotes: RemotePolicies(transport: policies, log: log, time: clock), throttle: LoginThrottle(),
      keys: keys,
      metrics: metrics,
      callbacks: CallbackParts(
        store: RetryingStore(store, inHand: inHand, clock: clock, log: callbackLog),
        queue: CallbackQueue(concurrency: configuration.callbacks.concurrency, time: clock),
        inHand: inHand, clock: clock, log: callbackLog, metrics: metrics,
        brakes: BrakeWatch(log: log, clock: clock), scheduler: scheduler),
      appointments: AppointmentParts(
        keys: keepsAppointments ? storeKeys : nil, watch: AppointmentWatch(store: store, time: clock)),
      push: storeKeys.map { [ledger, transport, store, log, clock] keys in
        PushParts(
          book: ClaimBook(store: store, keys: keys, ledger: ledger, clock: clock, log: log),
          notices: NoticeBook(store: store, keys: keys, clock: clock),
          kept: KeptSenders(
            transport: transport,
            // The other transports have the same settings, so only a lack of memory or descriptors stops this one.
            connect: { try? CurlTransport(.apns(configuration.authorities, proxies: proxies)) },
            clock: clock),
          clock: clock, log: log, metrics: metrics)
      },
      callbackTransport: callbackTransport)
    do throws(TLSFailure) {
      if let identity = configuration.listen.tls?.identity {
        tls = try TLSListener(identity, time: clock)
      } else {
        tls = nil
      }
    } catch {
      preconditionFailure("a loaded TLS identity that cannot serve: \(error)")
    }
    if let tls { metrics.addPart { [tls] in tls.appendExpiry(to: &$0) } }
    generations = Generations(Generation(configuration, number: 1, runtime))
    metrics.configurationLoaded(at: clock.unixTime)
    health = Health(tokens: tokens, store: store.health, generations: generations)
    watch = FileWatch(configuration.files)
    reloader = Reloader(
      load: reload, generations: generations, runtime: runtime,
      upstream: { [transport, clock] in try TalkdeskID($0, transport: transport, clock: clock) },
      listener: tls, watch: watch, log: log, clock: clock)
    var limits = ServerLimits(configuration.limits)
    let fitting = ServerLimits.connections(fitting: descriptorLimit)
    cappedConnections = fitting < limits.connections ? fitting : nil
    limits.connections = min(limits.connections, fitting)
    let page = MetricsPage(
      metrics: metrics, tokens: tokens, stops: runtime.stops, store: store.health, throttle: runtime.throttle,
      brakes: runtime.callbacks.brakes, generations: generations,
      health: health, sink: sink, connectionLimit: limits.connections)
    activity = RecentActivity(metrics: metrics, clock: clock)
    let audit = AuditLog(sink: sink, clock: clock, metrics: metrics, log: log)
    keeper = storeKeys.map { [runtime, generations, log] keys in
      AppointmentKeeper(runtime, generations, keys, audit, log)
    }
    noticeKeeper = runtime.push.map { [runtime, generations] in NoticeKeeper($0, runtime, generations) }
    let administration = Administration(
      generations: generations, runtime: runtime, store: store, reloader: reloader, health: health,
      metrics: page, audit: audit, activity: activity,
      appRoutes: Set(Endpoint.all.filter { $0.audience == .apps }.map { $0.paths[0] }), keeper: keeper,
      log: log, clock: clock)
    let gateway = Gateway(
      generations: generations, tokens: tokens, prepared: PreparedTokens(loops: loops.loops.count),
      audit: audit, log: log, clock: clock,
      health: health,
      callbacks: runtime.callbacks, appointments: runtime.appointments, keeper: keeper,
      administration: administration)
    let source: Server.Source =
      inherited.map { .inherited(descriptor: $0) }
      ?? .address(
        Self.address(configuration.listen.host, configuration.listen.port),
        sharesPort: configuration.listen.sharePort)
    let controls = SandboxControls(
      forgetTokens: { [tokens] in
        tokens.forgetTokens()
        desks.forgetTokens()
      },
      clockMoved: { [tokens, ledger = runtime.ledger] seconds in
        // By the new time the tokens have expired, or are not valid yet.
        tokens.forgetTokens()
        desks.forgetTokens()
        // What was used at a later time would refuse requests until that time comes.
        if seconds < 0 { ledger.forgetMemory() }
      },
      approveInstallation: { administration.approveInSandbox($0, &$1) })
    // A sandbox must not tell browsers that this host name uses TLS for the next year.
    server = Server(
      source, limits: limits, loops: loops, handler: front(gateway, controls), clock: clock,
      filter: tls?.filter(log: log, metrics: metrics),
      filteredFields: configuration.purpose == .sandbox
        ? [:] : ["Strict-Transport-Security": "max-age=31536000"],
      observer: ServerCounting(metrics: metrics, countsConnections: true))
    metrics.addPart { [weak server] text in
      text.family(
        "callgate_requests_waiting", .gauge,
        "Requests that wait for a token, keys, a policy, the store, Talkdesk or a change of a record."
      )
      text.sample(server?.deferredCount ?? 0)
    }
    if let installations {
      metrics.addPart { [generations, weak counts = installations.counts] text in
        guard generations.current.installations != nil, let counts = counts?.latest else { return }
        text.family("callgate_installations", .gauge, "Installations and requests for them, by state.")
        for state in InstallationQuery.State.allCases {
          text.sample([("state", state.rawValue)], counts[state])
        }
      }
    }
    metrics.addPart { [generations, weak metrics] text in
      guard let platforms = generations.current.push?.senders.platforms, !platforms.isEmpty else { return }
      metrics?.notices.append(to: &text)
      metrics?.callbackNotices.append(to: &text)
      metrics?.noticeLateness.append(to: &text)
      text.family(
        "callgate_notice_sender_stopped", .gauge, "Whether a provider refuses the settings of its notices.")
      for platform in platforms {
        let isStopped = generations.current.push?.senders.isStopped(platform) ?? false
        text.sample([("provider", platform.rawValue)], isStopped ? 1 : 0)
      }
    }
    if let keeper {
      metrics.addPart { [weak keeper] text in
        guard let counts = keeper?.counts else { return }
        text.family(
          "callgate_appointments", .gauge, "Appointments that wait for their time or are being carried out.")
        text.sample([("state", "scheduled")], counts.scheduled)
        text.sample([("state", "pending")], counts.pending)
        text.family(
          "callgate_appointments_overdue", .gauge,
          "Appointments that no instance has taken five seconds after they were due.")
        text.sample(counts.overdue)
      }
    }
    adminServer = configuration.admin.listener.map { [loops, health] listener in
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
  }

  private static func address(_ host: String, _ port: UInt16) -> SocketAddress {
    guard let address = SocketAddress(host: host, port: port) else {
      preconditionFailure("a configured host that is not an address")
    }
    return address
  }

  /// Opens the store and updates it, and fetches the keys for callers' tokens. Call it before `start`.
  public func prepare() async throws(StartError) {
    try await useStoreKeys()
    do throws(StoreError) {
      // Before the first request: records that an ended process left `pending` become `unknown`.
      let abandoned = try await store.recoverCallbacks(at: Instant(clock.unixTime))
      if abandoned > 0 { runtime.callbacks.recovered(abandoned) }
      // Stops survive a restart.
      try await runtime.stops.refresh()
      // A clock that is wrong is known before the first request.
      try await store.ping()
      await runtime.callbacks.brakes.restore(configuration.policy, runtime.ledger)
    } catch {
      throw .store(kind: runtime.storeKind, StoreFailure(error, of: runtime.storeKind))
    }
    for notice in await configuration.fetchKeys(keys) {
      log.write(.warning, "configuration notice", ["notice": "\(notice)"])
    }
  }

  /// Brings the store up to date, and takes its keys into use if they are the ones that it knows.
  private func useStoreKeys() async throws(StartError) {
    let ruling: KeyRuling
    do throws(StoreError) {
      try await store.migrate()
      let now = Instant(clock.unixTime)
      ruling = try await store.updateKeys(at: now) { [storeKeys] in
        KeyRuling($0, holding: storeKeys, at: now)
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

  /// Begins to listen and returns the public address.
  public func start() throws(StartError) -> SocketAddress {
    if let adminServer, let listener = configuration.admin.listener {
      let address = try Self.start(adminServer, listener.host, listener.port)
      // Kept until the log is written, so that the public address is the first line.
      log.write(.info, "admin listener started", ["address": "\(address)"])
    }
    let address = try Self.start(server, configuration.listen.host, configuration.listen.port)
    store.health.observe(StoreLog(log: log, kind: runtime.storeKind).write)
    let callbacks = runtime.callbacks
    let work = Upkeep(
      store: store, ledger: runtime.ledger, board: runtime.stops, clock: clock,
      inHand: { callbacks.store.overdue(at: $0) }, recovered: { callbacks.recovered($0) },
      ended: { [log] stops in for stop in stops { log.write(stop, "a stop has ended") } },
      saved: { [log] in log.write($0, "the store has saved a stop that it could not save before") },
      unused: { [generations] in generations.current.unused(at: $0) })
    upkeep.withLock { [keys, generations, clock] in
      $0 = Task {
        async let renewal: Void = keys.keepFresh(generations, clock: clock)
        await work.run()
        await renewal
      }
    }
    counting.withLock { [installations, activity] in
      $0 = Task {
        async let activity: Void = activity.keepRead()
        await installations?.keepCounted()
        await activity
      }
    }
    keeping.withLock { [keeper] in
      $0 = Task {
        async let counting: Void? = keeper?.keepCounted()
        await keeper?.run()
        await counting
      }
    }
    noticing.withLock { [noticeKeeper] in $0 = Task { await noticeKeeper?.run() } }
    lapsing.withLock { [push = runtime.push] in
      $0 = Task { await push?.book.keepLapsing() }
    }
    watch.start { [reloader] in
      Task { await reloader.reload(because: "a changed file") }
    }
    return address
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

  /// Begins to write the log. Separate from `start`, so that the line with the public address comes first.
  public func startLog() {
    sink.start { [log] lost in
      log.line(.warning, "log lines were lost because the reader was too slow", ["lost": String(lost)])
    }
    if let cappedConnections {
      // Warn only if the operator set the limit.
      let isStated = configuration.origins.contains { $0.name == Settings.connections.setting.name }
      log.write(
        isStated ? .warning : .info, "limits.connections is capped by the limit on open descriptors",
        ["configured": String(configuration.limits.connections), "connections": String(cappedConnections)])
    }
    if case .sqlite = configuration.store, SQLiteVersion.current.hasWALResetBug {
      log.write(
        .info,
        "this version of SQLite can lose saved state when two processes write to one file: let no other process write to "
          + "it, or update SQLite", ["version": "\(SQLiteVersion.current)"])
    }
    log.write(configuration.policy.brakes)
    if configuration.purpose == .sandbox, configuration.callers.isEmpty {
      log.write(
        .info, "no caller is configured, so this sandbox serves requests with any credential or none",
        ["to_try_one": "set DEFAULT_USERNAME=app and DEFAULT_PASSWORD, and CALLGATE_ALLOW_ANONYMOUS=false"])
    } else if configuration.allowAnonymous {
      log.write(.warning, "the server issues tokens without credentials: allow_anonymous is true")
    }
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
    await callbackTransport.shutdown()
    // Each callback has its outcome now and saves it.
    await runtime.callbacks.inHand.finished(within: .seconds(5), clock)
    await adminServer?.shutdown(within: .seconds(1))
    tokens.shutdown()
    // Notices on their way have a few seconds.
    await noticing.withLock { $0 }?.value
    await transport.shutdown()
    upkeep.withLock { $0 }?.cancel()
    let counting = counting.withLock { $0 }
    counting?.cancel()
    keeping.withLock { $0 }?.cancel()
    lapsing.withLock { $0 }?.cancel()
    // It saves the last uses of installations.
    await counting?.value
    runtime.callbacks.store.end()
    await runtime.ledger.close(at: Instant(clock.unixTime))
    await store.close()
    log.write(.info, "stopped")
    // A reader that does not read must not keep the process from ending.
    _ = sink.close(within: .seconds(1))
  }
}

extension Service {
  /// Ends callbacks at a time: sent ones become unknown, unsent ones are refused, and both get a response.
  private func endCallbacks(at end: MonotonicTime) -> Task<Void, Never> {
    Task { [clock, runtime, callbackTransport] in
      // After a cancellation nothing runs any more.
      guard await clock.hasSlept(until: end) else { return }
      runtime.callbacks.queue.shutdown()
      await callbackTransport.shutdown()
    }
  }
}

extension AppointmentKeeper {
  /// The keeper of a server's appointments.
  fileprivate convenience init(
    _ runtime: Runtime, _ generations: Generations, _ keys: StoreKeys, _ audit: AuditLog, _ log: Log
  ) {
    let parts = runtime.callbacks
    let carrier = AppointmentCarrier(
      parts, ledger: runtime.ledger, keys: keys, watch: runtime.appointments.watch, audit: audit, log: log,
      setting: { generations.current.handling(runtime) })
    self.init(
      store: parts.store, clock: parts.scheduler, inHand: parts.inHand,
      lateness: { generations.current.appointments?.late }, handle: carrier.handle)
  }
}

extension NoticeKeeper {
  /// The keeper of a server's notices of callbacks.
  fileprivate convenience init(_ push: PushParts, _ runtime: Runtime, _ generations: Generations) {
    self.init(push.notices, push.book, scheduler: runtime.callbacks.scheduler, metrics: runtime.metrics) {
      guard let push = generations.current.push, let notices = generations.current.configuration.notices
      else { return nil }
      return Setting(senders: push.senders, texts: notices.texts)
    }
  }
}
