// The HTTP/1.1 server: starts the listeners, and drains connections at shutdown.

public import HTTP
public import Platform
import Synchronization

/// An HTTP/1.1 server: accepts connections on every loop of a group and hands requests to a handler.
public final class Server: Sendable {
  /// The source of a server's connections.
  public enum Source: Sendable {
    /// An address to bind. Port 0 lets the system choose. A port in use is refused, unless `sharesPort` is
    /// set. With it, several servers of one user may listen on the port, and the kernel spreads connections
    /// over them. If the kernel has no IPv6, `::` becomes `0.0.0.0`.
    case address(SocketAddress, sharesPort: Bool = false)
    /// Listening descriptors to take over, for example from systemd; at least one. The server closes them.
    case inherited(descriptors: [Int32])
  }

  /// Makes the filter of a new connection from the address of its client.
  public typealias Filter = @Sendable (_ peer: SocketAddress) -> any StreamFilter

  private let source: Source
  private let workers: [Worker]
  private let state: ServerState
  private let listeners = Mutex<[Listener]>([])

  /// Makes a server that does not listen yet.
  ///
  /// - Parameters:
  ///   - source: The source of connections.
  ///   - limits: The limits for clients. `connections` must fit the limit on descriptors; see
  ///     `ServerLimits.connections(fitting:)`.
  ///   - loops: The loops of the connections. The group must outlive the server's work.
  ///   - handler: Responds to requests.
  ///   - clock: The clock for the `Date` field and for the durations that the observer gets.
  ///   - filter: Makes the filter between a connection and the network, such as TLS. Called on the
  ///     connection's loop.
  ///   - fields: Fields added to every response.
  ///   - filteredFields: Fields added to every response through a filter.
  ///   - observer: Receives events about connections and responses.
  public init(
    _ source: Source, limits: ServerLimits = ServerLimits(), loops: EventLoopGroup,
    handler: any RequestHandler,
    clock: any TimeSource = SystemClock(), filter: Filter? = nil, fields: Fields = Fields(),
    filteredFields: Fields = Fields(),
    observer: (any ServerObserver)? = nil
  ) {
    let state = ServerState(limits)
    self.state = state
    self.source = source
    workers = loops.loops.map {
      Worker(
        loop: $0, handler: handler, limits: limits, state: state, clock: clock,
        loopCount: loops.loops.count, makeFilter: filter, fields: fields, filteredFields: filteredFields,
        observer: observer)
    }
  }

  /// Makes a server that binds an address; see
  /// `init(_:limits:loops:handler:clock:filter:fields:filteredFields:observer:)`.
  public convenience init(
    address: SocketAddress, limits: ServerLimits = ServerLimits(), loops: EventLoopGroup,
    handler: any RequestHandler, fields: Fields = Fields(), observer: (any ServerObserver)? = nil
  ) {
    self.init(
      .address(address), limits: limits, loops: loops, handler: handler, fields: fields, observer: observer)
  }

  /// The number of open connections that count toward the limit.
  public var connectionCount: Int { state.connections.load(ordering: .relaxed) }

  /// The number of octets that wait for clients that do not read. Documents that all clients share do not
  /// count.
  var unsentOctets: Int { state.unsent.octets }

  /// The memory of unfinished requests, in octets.
  var unfinishedOctets: Int { state.unfinished.octets }

  /// The number of deferred requests without a response, whether or not their clients are still connected.
  public var deferredCount: Int { state.deferred.load(ordering: .relaxed) }

  /// Whether connections close as soon as they are idle.
  var isEnding: Bool { state.isEnding.load(ordering: .acquiring) }

  /// Calls `startAll` and returns its first address.
  @discardableResult
  public func start() throws(SystemError) -> SocketAddress { try startAll()[0] }

  /// Starts to accept connections. Call once, not from a loop.
  ///
  /// - Returns: Each address, with the port that the system chose.
  /// - Throws: If the address is in use (`isAddressInUse`) or the server cannot listen on it.
  public func startAll() throws(SystemError) -> [SocketAddress] {
    let (made, addresses) = try makeListeners()
    for listener in made {
      if let error = listener.start() { throw error }
    }
    listeners.withLock { $0 = made }
    return addresses
  }

  /// Adds `Connection: close` to responses from now on. Connections and requests are still accepted.
  public func beginDrain() { state.isDraining.store(true, ordering: .releasing) }

  /// Accepts the connections that wait in the kernel's queues, then stops accepting.
  public func stopAccepting() {
    let closing = listeners.withLock { list in
      defer { list = [] }
      return list
    }
    for listener in closing { listener.stop() }
  }

  /// Stops accepting, finishes running requests, and closes connections as they become idle. Connections
  /// that are still open after `time` are closed. Returns when none is open.
  public func shutdown(within time: Duration) async {
    beginDrain()
    stopAccepting()
    state.isEnding.store(true, ordering: .releasing)
    for worker in workers {
      await withCheckedContinuation { continuation in
        worker.loop.execute {
          worker.forEachConnection { $0.shutDown() }
          continuation.resume()
        }
      }
    }
    let limit = Task {
      do {
        try await Task.sleep(for: time)
      } catch {
        return  // Everything ended in time.
      }
      for worker in self.workers { worker.loop.execute { worker.forEachConnection { $0.close() } } }
    }
    await state.waitUntilEmpty()
    limit.cancel()
  }

  // MARK: Listening

  private func makeListeners() throws(SystemError) -> ([Listener], [SocketAddress]) {
    switch source {
    case .inherited(let descriptors):
      var all: ([Listener], [SocketAddress]) = ([], [])
      for descriptor in descriptors {
        let (made, address) = try share(ListeningSocket(owning: Descriptor(owning: descriptor)))
        all.0 += made
        all.1.append(address)
      }
      return all
    case .address(let asked, let sharesPort):
      let address = ListeningSocket.bindable(asked)
      let isMany = workers.count > 1
      if isMany, !sharesPort, address.port != 0 { try ListeningSocket.probe(address) }
      let first = try ListeningSocket(address: address, sharesPort: isMany || sharesPort)
      let bound = try first.boundAddress()
      var made = [Listener(first, worker: workers[0], isShared: false, loopCount: workers.count)]
      for worker in workers.dropFirst() {
        let next = try ListeningSocket(
          address: SocketAddress(address.address, port: bound.port), sharesPort: true)
        made.append(Listener(next, worker: worker, isShared: false, loopCount: workers.count))
      }
      return (made, [bound])
    }
  }

  /// Makes a listener for each loop. All use one socket, each through its own descriptor.
  private func share(_ first: consuming ListeningSocket) throws(SystemError) -> ([Listener], SocketAddress) {
    let bound = try first.boundAddress()
    var made: [Listener] = []
    for worker in workers.dropFirst() {
      made.append(Listener(try first.duplicate(), worker: worker, isShared: true, loopCount: workers.count))
    }
    made.append(Listener(first, worker: workers[0], isShared: workers.count > 1, loopCount: workers.count))
    return (made, bound)
  }
}
