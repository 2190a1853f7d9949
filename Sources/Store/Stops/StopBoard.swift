// The kill switch for requests: a cached copy of the stops in the store, refreshed in the background.

public import Gate
public import Platform
import Synchronization

/// The current stops, read for every request and refreshed in the background.
///
/// Usually there is no stop, and a read costs one atomic load.
///
/// Changes are numbered, and the store gets them in that order. A resume ends the stops with smaller numbers,
/// but no stop that was made while the resume ran.
///
/// A stop that the store could not save applies at this instance until the store works again. The board never
/// saves it later, because another instance may have ended the same stop by then.
public final class StopBoard: Sendable {
  /// A stop that applies here and that the store has not saved.
  private struct Unsaved {
    let number: Int
    var stop: Stop
    /// Whether the store failed to save the stop. False while the save is running or still to come.
    var isGivenUp = false
  }

  private struct State {
    /// All stops that apply at this instance, saved or not.
    var stops = StopSet()
    /// The stops in the store, as far as this instance knows.
    var saved = StopSet()
    var refreshedAt: MonotonicTime?
    var unsaved: [Unsaved] = []
    /// The number of changes made here. A refresh that began before a change must not undo it.
    var changes = 0
  }

  private let store: any StopStore
  private let clock: any TimeSource
  private let state = Mutex(State())
  private let hasStops = Atomic<Bool>(false)
  private let isAwaited = Atomic<Bool>(false)
  /// Runs changes of the store's stops in order: a delayed change must not undo a later one.
  private let changing = OneAtATime()

  /// A board for the stops in a store; empty until the first refresh.
  public init(store: any StopStore, clock: any TimeSource) {
    self.store = store
    self.clock = clock
  }

  /// The stop that applies to a request; nil if the request may continue.
  @inline(__always) public func stop(for action: Gate.Action, callerID: String?, appID: String?) -> Stop? {
    guard hasStops.load(ordering: .relaxed) else { return nil }
    let seconds = clock.unixTime.seconds
    return state.withLock { $0.stops.stop(for: action, callerID: callerID, appID: appID, at: seconds) }
  }

  /// Whether the store's stops are known, so that `stop(for:)` can be trusted. False only between
  /// `awaitStore` and the next successful refresh.
  public var isKnown: Bool { !isAwaited.load(ordering: .relaxed) }

  /// Records that the server starts without its store. Until the stops are known, the server must not serve
  /// requests that a stop could refuse.
  public func awaitStore() { isAwaited.store(true, ordering: .relaxed) }

  /// The time for the beginning and end of stops, by the store's clock, in seconds since the epoch.
  public var time: Int64 { clock.unixTime.seconds }

  /// All stops that apply at this instance, saved or not.
  public var stops: StopSet { state.withLock { $0.stops } }

  /// Whether a stop of `stops` applies only at this instance, because the store could not save it.
  public func isOnlyHere(_ stop: Stop) -> Bool {
    state.withLock { state in
      state.unsaved.contains { $0.isGivenUp && $0.stop.target == stop.target } && !state.saved.covers(stop)
    }
  }

  /// Removes the stops that have ended. Even before this call, they no longer stop requests.
  ///
  /// - Returns: The ended stops, each reported once.
  public func removeEnded() -> [Stop] {
    let seconds = clock.unixTime.seconds
    return state.withLock { state in
      let ended = state.stops.removeEnded(at: seconds)
      state.unsaved.removeAll { $0.stop.hasEnded(at: seconds) }
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
      return ended
    }
  }

  /// The time since the last refresh; nil before the first one.
  public var age: Duration? { state.withLock { $0.refreshedAt }.map { clock.now.age(since: $0) } }

  /// Reads the stops from the store. If the store cannot be read, or if stops were changed here meanwhile,
  /// the old ones stay.
  ///
  /// - Parameters:
  ///   - isStoreBack: Whether the store can be written again. If so, the stops that it could not save end.
  ///   - onEnd: Gets the stops of this board that have ended.
  ///   - onLapse: Gets the stops that end because the store works again and does not have them.
  public func refresh(
    isStoreBack: () -> Bool = { true }, onEnd: ([Stop]) -> Void = { _ in },
    onLapse: ([Stop]) -> Void = { _ in }
  ) async throws(StoreError) {
    let started = clock.now
    let changes = state.withLock { $0.changes }
    let stops = try await store.stops()
    let isBack = isStoreBack()
    let (ended, lapsed) = state.withLock { state -> ([Stop], [Stop]) in
      guard state.changes == changes else { return ([], []) }
      let before = state.stops
      var lapsed: [Stop] = []
      if isBack {
        lapsed = state.unsaved.filter(\.isGivenUp).map(\.stop)
        state.unsaved.removeAll(where: \.isGivenUp)
      }
      state.saved = stops
      state.stops = stops
      for entry in state.unsaved { state.stops.stop(entry.stop) }
      // The store keeps ended stops a while longer, for instances whose clocks are behind.
      let seconds = clock.unixTime.seconds
      _ = state.stops.removeEnded(at: seconds)
      state.refreshedAt = started
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
      isAwaited.store(false, ordering: .relaxed)
      let now = state.stops
      return (before.ended(at: seconds, in: now), lapsed.filter { !now.includes($0) })
    }
    if !ended.isEmpty { onEnd(ended) }
    if !lapsed.isEmpty { onLapse(lapsed) }
  }

  /// Adds a stop. It applies here at once, is then saved in the store, and applies at other instances after
  /// their next refresh. If the store fails, the stop applies here until a refresh finds that the store works
  /// again.
  public func stop(_ stop: Stop) async throws(StoreError) {
    let number = change { state in
      let number = changing.announce()
      state.stops.stop(stop)
      state.unsaved.append(Unsaved(number: number, stop: stop))
      return number
    }
    try await changing.run(number) { () throws(StoreError) in
      do throws(StoreError) {
        try await store.stop(stop)
      } catch {
        change { state in
          for index in state.unsaved.indices where state.unsaved[index].number == number {
            state.unsaved[index].isGivenUp = true
          }
        }
        throw error
      }
      change { state in
        state.unsaved.removeAll { $0.number == number }
        state.saved.stop(stop)
      }
    }
  }

  /// Ends the stops of exactly this target, for these actions, that were made before this call. The store
  /// saves the end first. Otherwise, a restart could stop requests again that were already resumed.
  ///
  /// - Returns: Whether this board had such a stop.
  @discardableResult
  public func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) -> Bool {
    var hasEnded = false
    let number = changing.announce()
    try await changing.run(number) { () throws(StoreError) in
      try await store.resume(target, action)
      change { state in
        let before = state.stops
        state.stops.resume(target, action)
        state.saved.resume(target, action)
        state.unsaved = state.unsaved.flatMap { entry in
          guard entry.number < number, entry.stop.target == target else { return [entry] }
          return entry.stop.without(action).map { stop in
            Unsaved(number: entry.number, stop: stop, isGivenUp: entry.isGivenUp)
          }
        }
        // Stops that were made while this ran stay in effect.
        for entry in state.unsaved { state.stops.stop(entry.stop) }
        hasEnded = state.stops != before
      }
    }
    return hasEnded
  }

  private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock { state in
      state.changes += 1
      defer { hasStops.store(!state.stops.isEmpty, ordering: .relaxed) }
      return body(&state)
    }
  }
}
