// The kill switch as requests see it: the stops of the store, kept in memory.

public import Gate
public import Platform
import Synchronization

/// The current stops, read for every request and refreshed in the background.
///
/// Without any stop, which is nearly always, a read costs one atomic load.
///
/// Changes have numbers, and the store gets them in that order. A resume ends the stops of smaller numbers,
/// and none that was made while it ran.
///
/// A stop that the store could not save holds here until the store works again. The board never saves it later: by then another
/// instance may have resumed what it stops.
public final class StopBoard: Sendable {
  /// Stopped here, and not saved.
  private struct Unsaved {
    let number: Int
    var stop: Stop
    /// Whether the store has failed to save it. Until then it is on its way.
    var isGivenUp = false
  }

  private struct State {
    /// All that holds here.
    var stops = StopSet()
    /// What the store has.
    var saved = StopSet()
    var refreshedAt: MonotonicTime?
    var unsaved: [Unsaved] = []
    /// Counts changes made here, so that a refresh that began before one does not undo it.
    var changes = 0
  }

  private let store: any StopStore
  private let clock: any TimeSource
  private let state = Mutex(State())
  private let hasStops = Atomic<Bool>(false)
  private let isAwaited = Atomic<Bool>(false)
  /// Changes of the store's stops: one that is made late must not undo one that came after it.
  private let changing = OneAtATime()

  /// A board for the stops in a store; empty until the first refresh.
  public init(store: any StopStore, clock: any TimeSource) {
    self.store = store
    self.clock = clock
  }

  /// The stop that a request falls under; nil when it may go on.
  @inline(__always) public func stop(for action: Gate.Action, callerID: String?, appID: String?) -> Stop? {
    guard hasStops.load(ordering: .relaxed) else { return nil }
    let seconds = clock.unixTime.seconds
    return state.withLock { $0.stops.stop(for: action, callerID: callerID, appID: appID, at: seconds) }
  }

  /// Whether the store's stops are known, so that `stop(for:)` can be trusted. False only between `awaitStore` and the next refresh.
  public var isKnown: Bool { !isAwaited.load(ordering: .relaxed) }

  /// The server starts without its store: nothing that a stop could refuse may be served before the stops are known.
  public func awaitStore() { isAwaited.store(true, ordering: .relaxed) }

  /// The time by which stops begin and end: the store's, in seconds since the epoch.
  public var time: Int64 { clock.unixTime.seconds }

  /// All that is stopped.
  public var stops: StopSet { state.withLock { $0.stops } }

  /// Whether a stop of `stops` holds at this instance alone, because the store could not save it.
  public func isOnlyHere(_ stop: Stop) -> Bool {
    state.withLock { state in
      state.unsaved.contains { $0.isGivenUp && $0.stop.target == stop.target } && !state.saved.covers(stop)
    }
  }

  /// Removes the stops that have ended. They do not stop requests before this call either.
  ///
  /// - Returns: the ended stops, each reported once.
  public func removeEnded() -> [Stop] {
    let seconds = clock.unixTime.seconds
    return state.withLock { state in
      let ended = state.stops.removeEnded(at: seconds)
      state.unsaved.removeAll { $0.stop.hasEnded(at: seconds) }
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
      return ended
    }
  }

  /// The age of its stops; nil before the first refresh.
  public var age: Duration? { state.withLock { $0.refreshedAt }.map { clock.now.age(since: $0) } }

  /// Fetches the stops. If the store cannot be read, the old ones stay.
  ///
  /// - Parameters:
  ///   - isStoreBack: Whether the store can be written. Then the stops end that it could not save.
  ///   - onEnd: Gets the shown stops that have ended.
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
      // A store keeps them a while longer, for instances whose clocks are behind.
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

  /// Stops something: effective here at once, then saved by the store, and elsewhere with the next refresh. If the store fails, it holds
  /// here all the same, until a refresh finds that the store works again.
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

  /// Ends the stops that were made before this: saved by the store first, so that nothing begins again that a restart would stop.
  /// - Returns: Whether there was one, as far as this board shows.
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
        // Those that were made meanwhile hold, by themselves.
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
