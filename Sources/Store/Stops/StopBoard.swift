// The kill switch as every request sees it: what a store says is stopped, kept at hand.

public import Gate
public import Platform
internal import Synchronization

/// What is stopped, read on the way of every request and refreshed beside it.
///
/// With nothing stopped, which is nearly always, asking it reads one atomic.
public final class StopBoard: Sendable {
  private struct State {
    var stops = StopSet()
    var refreshedAt: MonotonicTime?
    /// Stopped here, and not known to be kept by the store yet.
    var unkept: [Stop] = []
    /// Counts changes made here, so that a refresh that began before one does not undo it.
    var changes = 0
  }

  private let store: any Store
  private let clock: any TimeSource
  private let state = Mutex(State())
  private let hasStops = Atomic<Bool>(false)
  /// Changes of the store's stops: one that is made late must not undo one that came after it.
  private let changing = OneAtATime()

  /// A board that shows what a store says; empty until it is refreshed.
  public init(store: any Store, clock: any TimeSource) {
    self.store = store
    self.clock = clock
  }

  /// The stop that a request falls under; nil when it may go on.
  @inline(__always) public func stop(for action: Gate.Action, callerID: String?, appID: String?) -> Stop? {
    guard hasStops.load(ordering: .relaxed) else { return nil }
    let seconds = clock.unixTime.seconds
    return state.withLock { $0.stops.stop(for: action, callerID: callerID, appID: appID, at: seconds) }
  }

  /// All that is stopped.
  public var stops: StopSet { state.withLock { $0.stops } }

  /// Forgets the stops whose end has come. A request that comes before that is not stopped by them either.
  ///
  /// - Returns: what has ended, to be told once.
  public func removeEnded() -> [Stop] {
    let seconds = clock.unixTime.seconds
    return state.withLock { state in
      let ended = state.stops.removeEnded(at: seconds)
      state.unkept.removeAll { $0.hasEnded(at: seconds) }
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
      return ended
    }
  }

  /// How old what it shows is; nil before the first refresh.
  public var age: Duration? { state.withLock { $0.refreshedAt }.map { clock.now - $0 } }

  /// Fetches what is stopped, once the store has kept what it could not keep before. What was shown stays when the store
  /// fails.
  public func refresh() async throws(StoreError) {
    let started = clock.now
    for stop in state.withLock({ $0.unkept }) { try await keep(stop) }
    let changes = state.withLock { $0.changes }
    let stops = try await store.stops()
    state.withLock { state in
      guard state.changes == changes else { return }
      state.stops = stops
      for stop in state.unkept { state.stops.stop(stop) }
      // A store keeps them a while longer, for instances whose clocks are behind.
      _ = state.stops.removeEnded(at: clock.unixTime.seconds)
      state.refreshedAt = started
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
    }
  }

  /// Stops something: effective here at once, then kept by the store, and elsewhere with the next refresh. Where the store
  /// fails it holds here all the same, and each refresh tries to have it kept.
  public func stop(_ stop: Stop) async throws(StoreError) {
    change { state in
      state.stops.stop(stop)
      state.unkept.append(stop)
    }
    try await keep(stop)
  }

  /// Ends a stop: kept by the store first, so that nothing begins again that a restart would stop.
  /// - Returns: Whether there was one, as far as this board shows.
  @discardableResult
  public func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) -> Bool {
    var hasEnded = false
    try await changing.run { () throws(StoreError) in
      try await store.resume(target, action)
      change { state in
        let before = state.stops
        state.stops.resume(target, action)
        hasEnded = state.stops != before
        state.unkept = state.unkept.flatMap { stop in
          stop.target == target ? stop.without(action) : [stop]
        }
      }
    }
    return hasEnded
  }

  /// Has the store keep a stop that holds here already, unless it was ended meanwhile.
  private func keep(_ stop: Stop) async throws(StoreError) {
    try await changing.run { () throws(StoreError) in
      guard state.withLock({ $0.unkept.contains(stop) }) else { return }
      try await store.stop(stop)
      change { state in state.unkept.removeAll { $0 == stop } }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      state.changes += 1
      body(&state)
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
    }
  }
}
