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
public final class StopBoard: Sendable {
  /// Stopped here, and not known to be kept by the store yet.
  private struct Unkept {
    let number: Int
    var stop: Stop

    /// Whether it is the same change, of the same action. A stop of `all` leaves several once one action was resumed.
    func isSame(as other: Unkept) -> Bool { number == other.number && stop.action == other.stop.action }
  }

  private struct State {
    var stops = StopSet()
    var refreshedAt: MonotonicTime?
    var unkept: [Unkept] = []
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

  /// Removes the stops that have ended. They do not stop requests before this call either.
  ///
  /// - Returns: the ended stops, each reported once.
  public func removeEnded() -> [Stop] {
    let seconds = clock.unixTime.seconds
    return state.withLock { state in
      let ended = state.stops.removeEnded(at: seconds)
      state.unkept.removeAll { $0.stop.hasEnded(at: seconds) }
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
      return ended
    }
  }

  /// The age of its stops; nil before the first refresh.
  public var age: Duration? { state.withLock { $0.refreshedAt }.map { clock.now.age(since: $0) } }

  /// Fetches the stops, then saves those that the store could not save before. If the store cannot be read,
  /// the old stops stay. If it can only be read, the board still shows other instances' stops. Throws, at the
  /// end, the first failure.
  ///
  /// - Parameters:
  ///   - onEnd: Gets the shown stops that have ended.
  ///   - onSave: Gets each stop that the store has now saved and could not save before.
  public func refresh(
    onEnd: ([Stop]) -> Void = { _ in }, onSave: (Stop) -> Void = { _ in }
  ) async throws(StoreError) {
    let started = clock.now
    let changes = state.withLock { $0.changes }
    let stops = try await store.stops()
    let (ended, unkept) = state.withLock { state -> ([Stop], [Unkept]) in
      guard state.changes == changes else { return ([], state.unkept) }
      let before = state.stops
      state.stops = stops
      for entry in state.unkept { state.stops.stop(entry.stop) }
      // A store keeps them a while longer, for instances whose clocks are behind.
      let seconds = clock.unixTime.seconds
      _ = state.stops.removeEnded(at: seconds)
      state.refreshedAt = started
      hasStops.store(!state.stops.isEmpty, ordering: .relaxed)
      isAwaited.store(false, ordering: .relaxed)
      return (before.ended(at: seconds, in: state.stops), state.unkept)
    }
    if !ended.isEmpty { onEnd(ended) }
    var failure: StoreError?
    for entry in unkept {
      // One that the store refuses must not keep the others from it.
      do throws(StoreError) {
        if let kept = try await keep(entry, turn: changing.announce()) { onSave(kept) }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// Stops something: effective here at once, then kept by the store, and elsewhere with the next refresh. Where the store
  /// fails it holds here all the same, and each refresh tries to have it kept.
  public func stop(_ stop: Stop) async throws(StoreError) {
    let entry = change { state in
      let number = changing.announce()
      state.stops.stop(stop)
      if let reason = stop.reason {
        // An earlier one that the store gets later would bring back its reason.
        for index in state.unkept.indices {
          let earlier = state.unkept[index].stop
          guard earlier.target == stop.target, earlier.without(stop.action).isEmpty else { continue }
          state.unkept[index].stop.reason = reason
        }
      }
      let entry = Unkept(number: number, stop: stop)
      state.unkept.append(entry)
      return entry
    }
    _ = try await keep(entry, turn: entry.number)
  }

  /// Ends the stops that were made before this: kept by the store first, so that nothing begins again that a restart would stop.
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
        state.unkept = state.unkept.flatMap { entry in
          guard entry.number < number, entry.stop.target == target else { return [entry] }
          return entry.stop.without(action).map { Unkept(number: entry.number, stop: $0) }
        }
        // Those that were made meanwhile hold, by themselves.
        for entry in state.unkept { state.stops.stop(entry.stop) }
        hasEnded = state.stops != before
      }
    }
    return hasEnded
  }

  /// Saves a stop that already holds here, unless it has ended meanwhile.
  ///
  /// - Parameter turn: Its number among the changes.
  /// - Returns: the store's stops now; nil if there is nothing to save.
  private func keep(_ entry: Unkept, turn: Int) async throws(StoreError) -> Stop? {
    var kept: Stop?
    try await changing.run(turn) { () throws(StoreError) in
      guard let stop = state.withLock({ $0.unkept.first { $0.isSame(as: entry) } })?.stop else { return }
      try await store.stop(stop)
      change { state in state.unkept.removeAll { $0.isSame(as: entry) } }
      kept = stop
    }
    return kept
  }

  private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock { state in
      state.changes += 1
      defer { hasStops.store(!state.stops.isEmpty, ordering: .relaxed) }
      return body(&state)
    }
  }
}
