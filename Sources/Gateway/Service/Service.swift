// The running server. Creates, starts, drains and stops its parts in order.

import API
import Admin
import Appointments
import Callers
public import Configuration
import Delivery
import Documents
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

/// The running server. It is created from a configuration, then prepared, started and drained.
public final class Service: Sendable {
  private let wiring: Wiring
  private let server: Server
  /// The operators' own listener, if there is one.
  private let adminServer: Server?
  /// All parts, in the order in which they start.
  let parts: Parts
  /// The wait for a database that was unavailable at the start. Draining ends the wait.
  private let wait = Mutex<(task: Task<Void, Never>?, isOver: Bool)>((nil, false))
  /// Whether the server uses listening sockets of another program instead of the configured address.
  private let isInherited: Bool
  /// The connection limit, if the limit on descriptors allows fewer connections than configured.
  private let cappedConnections: Int?
  var runtime: Runtime { wiring.runtime }
  private var configuration: Configuration { wiring.configuration }
  private var clock: any TimeSource { wiring.clock }
  private var store: any Store { wiring.store }
  private var log: Log { wiring.log }

  /// Creates a server. It does not listen before `start`, and sends no request before `prepare`.
  ///
  /// - Parameters:
  ///   - configuration: The configuration, loaded for serving.
  ///   - readStore: Reads the setting `store` again, from the same sources.
  ///   - reload: Loads the whole configuration from its sources, as at startup.
  ///   - front: Wraps the gateway's handler, as the sandbox does.
  ///   - loops: The event loops to run on.
  ///   - inherited: Listening descriptors to take over instead of binding the configured address.
  ///   - clock: The clock for all decisions, logs and displayed times.
  ///   - scheduler: The clock that decides when appointments are due; nil to use `clock`.
  ///   - descriptorLimit: The number of descriptors that the process may open. It limits the connections.
  ///   - isColoured: Whether stdout is a terminal that shows colors.
  ///   - write: Writes lines to stdout, and may block. Returns the number of bytes written, up to the end of
  ///     a line. Called from two threads if the audit lines form a chain and have no file of their own.
  public init(
    configuration: Configuration, loops: EventLoopGroup, descriptorLimit: Int, inherited: [Int32] = [],
    clock: any TimeSource = SystemClock(), scheduler: (any TimeSource)? = nil,
    readStore: @escaping @Sendable () -> Configuration.Store? = { nil },
    reload: @escaping @Sendable () throws(ConfigurationErrors) -> LoadedConfiguration,
    front: (any RequestHandler, SandboxControls) -> any RequestHandler = { handler, _ in handler },
    isColoured: Bool = false,
    write: @escaping @Sendable ([UInt8]) -> Int
  ) throws(StartError) {
    isInherited = !inherited.isEmpty
    let storeKeys = configuration.storeKeys ?? (configuration.purpose == .sandbox ? .sandbox : nil)
    let surroundings = try Surroundings(
      configuration, loops: loops.loops.count, clock: clock, isColoured: isColoured, storeKeys: storeKeys,
      write: write)
    wiring = try Wiring(
      configuration, storeKeys, surroundings, scheduler: scheduler, readStore: readStore, reload: reload)
    let (metrics, health) = (surroundings.metrics, wiring.health)

    var limits = ServerLimits(configuration.limits)
    let fitting = ServerLimits.connections(fitting: descriptorLimit)
    cappedConnections = fitting < limits.connections ? fitting : nil
    limits.connections = min(limits.connections, fitting)
    let administration = Administration(wiring, connectionLimit: limits.connections)
    let gateway = Gateway(Handlers(wiring), health: health, administration: administration)
    let handler = front(
      gateway,
      SandboxControls(wiring.runtime, wiring.generations, administration, wiring.upstreams.transport))

    server = Server(
      inherited.isEmpty
        ? .address(
          Self.address(configuration.listen.host, configuration.listen.port),
          sharesPort: configuration.listen.sharePort)
        : .inherited(descriptors: inherited),
      limits: limits, loops: loops, handler: handler, clock: clock,
      filter: wiring.tls?.filter(log: surroundings.log, metrics: metrics),
      fields: Self.everyResponse, filteredFields: Self.strictTransport(configuration),
      observer: ServerCounting(metrics: metrics, countsConnections: true))
    adminServer = configuration.admin.listener.map { listener in
      // Operators need few connections. The small limit keeps other clients of this listener from using up
      // the connections of the public listener.
      limits.connections = min(limits.connections, 64)
      limits.idleTimeout = min(limits.idleTimeout, .seconds(10))
      limits.closesLongestSilent = true
      return Server(
        address: Self.address(listener.host, listener.port), limits: limits,
        loops: EventLoopGroup(sharing: loops.loops[0]),
        handler: AdminHandler(administration, health, listener.isLoopback ? .loopback : .token),
        fields: Self.everyResponse,
        observer: ServerCounting(metrics: metrics, countsConnections: false))
    }
    parts = Parts(Part.all(wiring, server, operators: adminServer))
    for shown in parts.metrics { metrics.addPart(shown) }
  }

  /// Fields of every response. `nosniff` keeps browsers from guessing another content type.
  private static let everyResponse: Fields = ["X-Content-Type-Options": "nosniff"]

  private static func strictTransport(_ configuration: Configuration) -> Fields {
    // A sandbox must not tell browsers that this host name uses TLS for the next year.
    guard configuration.purpose != .sandbox else { return [:] }
    let subdomains = configuration.listen.tls?.hstsSubdomains == true ? "; includeSubDomains" : ""
    return ["Strict-Transport-Security": "max-age=31536000" + subdomains]
  }

  private static func address(_ host: String, _ port: UInt16) -> SocketAddress {
    guard let address = SocketAddress(host: host, port: port) else {
      preconditionFailure("a configured host that is not an address")
    }
    return address
  }

  /// Opens the store, brings it up to date, and fetches the keys that verify tokens of callers and operators,
  /// and App Check tokens. Call this before `start`.
  ///
  /// If the database is unavailable, `start` keeps trying. Until that succeeds, the server refuses every
  /// request that a stop could refuse.
  public func prepare() async throws(StartError) {
    do throws(StartError) {
      try await openStore()
    } catch {
      guard error.isStoreAway else { throw error }
      runtime.stops.awaitStore()
    }
    for notice in await configuration.fetchKeys(runtime.keys) {
      log.write(.warning, "configuration notice", ["notice": "\(notice)"])
    }
  }

  /// Brings the store up to date, and reads what the server needs from it. The stops come last, because the
  /// server serves requests once it knows them.
  private func openStore() async throws(StartError) {
    try await useStoreKeys()
    do throws(StoreError) {
      // Before the first request: records that an ended process left `pending` become `unknown`.
      if store.health.isClockRight {
        runtime.recovered(try await store.recoverCallbacks(at: Instant(clock.unixTime)))
      }
      // Without a store key, all instances share a key for nonces, created by the first of them, so that they
      // recognize each other's nonces.
      if wiring.storeKeys == nil {
        let key = try await store.sharedSecret("proof-nonce", or: runtime.nonces.exposedKey())
        runtime.nonces.use(Secret(key))
      }
      try await runtime.numberKey.load()
      try await runtime.blocked.refresh()
      await runtime.callbacks.brakes.restore(configuration.policy, runtime.ledger)
      // Stops survive a restart.
      try await runtime.stops.refresh(onLapse: { log.write(lapsed: $0) })
    } catch {
      throw .store(kind: runtime.storeKind, StoreFailure(error, of: runtime.storeKind))
    }
    // Load logins before the first request. Otherwise, an address that starts guessing at once could lock out
    // users who logged in before the restart.
    await runtime.throttle.memory?.refresh()
  }

  /// Tries to open the store every 5 s, and then starts all parts.
  /// - Parameter onFailure: Called with a failure that waiting cannot fix.
  private func waitForStore(_ onFailure: @Sendable (StartError) -> Void) async {
    // Add up to a quarter, so that instances do not all try at the same time.
    while await clock.hasSlept(until: clock.now + Duration.seconds(5) * Double.random(in: 1...1.25)) {
      do throws(StartError) {
        try await openStore()
        wait.withLock { if !$0.isOver { parts.start() } }
        return
      } catch {
        guard error.isStoreAway else { return onFailure(error) }
      }
    }
  }

  /// Brings the store up to date, and records the store keys in it. Throws if the store is in use with keys
  /// that this server does not have.
  private func useStoreKeys() async throws(StartError) {
    let ruling: KeyRuling
    do throws(StoreError) {
      try await store.migrate(
        MigrationWait(.seconds(90)) { [log] in log.write(.info, "schema upgrade", ["progress": $0]) })
      // Find out about a wrong clock before the first request, and before anything is decided by it.
      try await store.ping()
      let now = Instant(wiring.storeClock.unixTime)
      // With a wrong clock, no value counts as expired.
      let judged = store.health.isClockRight ? now : Instant(seconds: 0)
      ruling = try await store.updateKeys(at: now) { [storeKeys = wiring.storeKeys] in
        KeyRuling($0, holding: storeKeys, at: judged)
      }
    } catch {
      throw .store(kind: runtime.storeKind, StoreFailure(error, of: runtime.storeKind))
    }
    switch ruling {
    case .refused(let refusal): throw .store(kind: runtime.storeKind, StoreFailure(refusal))
    case .usable(let changes): log.write(changes, startLevel)
    }
  }

  /// The number of open connections, and the number of requests that wait for a response.
  var connections: (open: Int, waiting: Int) { (server.connectionCount, server.deferredCount) }

  /// The level of lines about a start without problems. The sandbox shows its first screen instead.
  private var startLevel: LogSettings.Level { configuration.purpose == .sandbox ? .debug : .info }

  /// The scheme of the public address: `http` or `https`.
  public var scheme: String { wiring.tls == nil ? "http" : "https" }

  /// Starts to listen. Returns the public addresses, and the address of the admin listener, if there is one.
  /// - Parameter onFailure: Called if a store that was unavailable responds, but cannot be used. The server
  ///   is useless then.
  public func start(
    onFailure: @escaping @Sendable (StartError) -> Void = { _ in }
  ) throws(StartError) -> (clients: [SocketAddress], operators: SocketAddress?) {
    var operators: SocketAddress?
    if let adminServer, let listener = configuration.admin.listener {
      let address = try start(adminServer, listener.host, listener.port)[0]
      operators = address
      // The log buffers this line until `startLog`, so that the line with the public address comes first.
      log.write(startLevel, "admin listener started", ["address": "\(address)"])
    }
    let addresses = try start(server, configuration.listen.host, configuration.listen.port)
    store.health.observe { [log, runtime, clock] event in
      StoreLog(log: log, kind: runtime.storeKind).write(event)
      if case .unavailable = event { runtime.metrics.troubles.began(.store, at: clock.unixTime) }
    }
    if runtime.stops.isKnown {
      parts.start()
    } else {
      wait.withLock { $0.task = Task { await waitForStore(onFailure) } }
    }
    wiring.watch.start { [reloader = wiring.reloader] in
      Task { await reloader.reload(because: "a changed file") }
    }
    return (addresses, operators)
  }

  private func start(_ server: Server, _ host: String, _ port: UInt16) throws(StartError) -> [SocketAddress] {
    do throws(SystemError) {
      let addresses = try server.startAll()
      if !isInherited, IPAddress(host)?.isV4 == false, addresses[0].address == IPAddress(v4: 0) {
        log.write(
          .info, "the kernel has no IPv6: listening on 0.0.0.0 instead of ::", ["address": "\(addresses[0])"]
        )
      }
      return addresses
    } catch {
      throw .listen(host: host, port: port, error)
    }
  }

  /// Reloads the configuration. If it is valid, all requests after the return use it. Otherwise the log shows
  /// the mistakes.
  /// - Parameter reason: The reason of the reload, for the log.
  /// - Returns: Whether the new configuration is in use.
  @discardableResult
  public func reload(because reason: String) async -> Bool {
    await wiring.reloader.reload(because: reason).isSuccess
  }

  /// Reopens the audit file after it was renamed.
  public func reopenAuditFile() { wiring.surroundings.trail?.reopen() }

  /// Starts to write the log. Separate from `start`, so that the line with the public address comes first.
  public func startLog() {
    wiring.surroundings.sink.start { [log] lost in
      log.line(.warning, "log lines were lost because the reader was too slow", ["lost": lost])
    }
    wiring.surroundings.trail?.start()
    log.write(startOf: configuration, cappedConnections: cappedConnections)
  }

  /// Fails the readiness check, accepts requests for `drain_delay`, finishes running requests within
  /// `drain_timeout`, and ends everything.
  ///
  /// - Returns: The number of lost log and audit lines that the log could not report.
  @discardableResult
  public func drain() async -> Int {
    wait.withLock { wait in
      wait.isOver = true
      wait.task?.cancel()
    }
    let limits = wiring.generations.current.configuration.limits
    log.write(
      .info, "draining: finishing running requests",
      ["drain_timeout": DurationText.text(of: limits.drainTimeout)])
    parts.drain(.announced)
    if limits.drainDelay > .zero {
      // A cancellation would only make draining faster.
      try? await clock.sleep(until: clock.now + limits.drainDelay)
    }
    parts.drain(.closed)
    await parts.end(within: limits.drainTimeout)
    log.write(.info, "stopped")
    // A stalled reader must not keep the process from ending.
    return wiring.surroundings.closeLog(within: .seconds(1))
  }
}

extension Administration {
  fileprivate convenience init(_ wiring: Wiring, connectionLimit: Int) {
    let (runtime, surroundings) = (wiring.runtime, wiring.surroundings)
    self.init(
      generations: wiring.generations, runtime: runtime, store: wiring.store, reloader: wiring.reloader,
      health: wiring.health,
      metrics: MetricsPage(
        metrics: surroundings.metrics, tokens: runtime.tokens, stops: runtime.stops,
        blocked: runtime.blocked,
        store: wiring.store.health, throttle: runtime.throttle, brakes: runtime.callbacks.brakes,
        generations: wiring.generations, health: wiring.health, lostLines: surroundings.lostLines,
        connectionLimit: connectionLimit),
      audit: wiring.audit, activity: wiring.activity, attention: wiring.attention,
      appRoutes: Set(Endpoint.all.filter { $0.audience == .apps }.map { $0.paths[0] }),
      keeper: wiring.keeper, log: wiring.log, clock: wiring.storeClock)
  }
}

extension Handlers {
  fileprivate convenience init(_ wiring: Wiring) {
    self.init(
      generations: wiring.generations, tokens: wiring.runtime.tokens, loops: wiring.surroundings.loops,
      audit: wiring.audit, log: wiring.log, clock: wiring.storeClock, store: wiring.store,
      callbacks: wiring.runtime.callbacks,
      appointments: wiring.runtime.appointments, keeper: wiring.keeper, outcomes: wiring.outcomes)
  }
}
