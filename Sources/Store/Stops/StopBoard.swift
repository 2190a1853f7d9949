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
    var failure: StoreError?
    /// Counts changes made here, so that a refresh that began before one does not undo it.
    var changes = 0
  }

  private let store: any Store
  private let clock: any TimeSource
  private let state = Mutex(State())
  private let hasStops = Atomic<Bool>(false)

  /// A board that shows what a store says; empty until it is refreshed.
  public init(store: any Store, clock: any TimeSource) {
    self.store = store
    self.clock = clock
  }

  /// The stop that a request falls under; nil when it may go on.
  @inline(__always) public func stop(for action: Gate.Action, callerID: String?, appID: String?) -> Stop? {
    guard hasStops.load(ordering: .relaxed) else { return nil }
    return state.withLock { $0.stops.stop(for: action, callerID: callerID, appID: appID) }
  }

  /// All that is stopped.
  public var stops: StopSet { state.withLock { $0.stops } }

  /// How old what it shows is; nil before the first refresh.
  public var age: Duration? { state.withLock { $0.refreshedAt }.map { clock.now - $0 } }

  /// Why the last refresh failed; nil when it did not.
  public var failure: StoreError? { state.withLock { $0.failure } }

  /// Fetches what is stopped. What was shown stays when the store fails.
  public func refresh() async throws(StoreError) {
    let changes = state.withLock { $0.changes }
    let started = clock.now
    do throws(StoreError) {
      let stops = try await store.stops()
      state.withLock { state in
        state.failure = nil
        guard state.changes == changes else { return }
        state.stops = stops
        state.refreshedAt = started
        hasStops.store(!stops.isEmpty, ordering: .relaxed)
      }
    } catch {
      state.withLock { $0.failure = error }
      throw error
    }
  }

  /// Stops something: kept by the store first, then effective here at once, and elsewhere with the next refresh.
  public func stop(_ stop: Stop) async throws(StoreError) {
    try await store.stop(stop)
    change { $0.stop(stop) }
  }

  /// Ends a stop, in the same order.
  public func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try await store.resume(target, action)
    change { $0.resume(target, action) }
  }

  private func change(_ body: (inout StopSet) -> Void) {
    state.withLock { state in
      state.changes += 1
      body(&state.stops)
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
    }
  }
}
