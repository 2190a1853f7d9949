// A loop that reads which items are due soon, and begins each item at its time.

import Synchronization

/// A loop that reads each second which items are due soon, and begins each item at its time. It can be woken
/// to read sooner.
public final class DueLoop: Sendable {
  /// The time for which items are read in advance: longer than the time between two reads.
  public static let lookAhead = Duration.milliseconds(1500)
  private static let interval = Duration.seconds(1)
  /// The shortest time between two reads on request.
  private static let shortestInterval = Duration.milliseconds(20)
  /// The time to the next read after one failed read, after two in a row, and after more.
  private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]

  private struct State {
    var isStopped = false
    /// Whether the loop was woken to read as soon as it may.
    var isWoken = false
    var nap: Task<Void, Never>?
  }

  private let clock: any TimeSource
  private let state = Mutex(State())

  /// A loop that does nothing before `run`.
  public init(clock: any TimeSource) { self.clock = clock }

  /// Makes the loop read as soon as it may.
  public func wake() {
    state.withLock { state in
      state.isWoken = true
      state.nap?.cancel()
    }
  }

  /// Ends `run`. No further items begin.
  public func stop() {
    state.withLock { state in
      state.isStopped = true
      state.nap?.cancel()
    }
  }

  /// Runs a step, unless the loop was stopped: after `stop` returns, no step begins. The step must not call
  /// the loop.
  /// - Returns: What the step returns; false if the loop was stopped.
  public func unlessStopped(_ step: () -> Bool) -> Bool { state.withLock { !$0.isStopped && step() } }

  /// Runs the loop until `stop`: reads the items that are due soon, and begins each one when it is due.
  ///
  /// - Parameters:
  ///   - read: Reads the items that are due soon, the earliest first; nil if that failed. They replace the
  ///     items of the previous read.
  ///   - mayBegin: Whether items may begin. If not, the items that were read are dropped.
  ///   - wait: The time until an item is due.
  ///   - begin: Begins an item. It must not wait.
  public func run<Item>(
    read: () async -> [Item]?, mayBegin: () -> Bool, wait: (Item) -> Duration, begin: (Item) -> Void
  ) async {
    /// The items that were read and are not due yet.
    var upcoming: [Item] = []
    var readAt = clock.now
    var lastRead: MonotonicTime?
    var failures = 0
    while !state.withLock({ $0.isStopped }) {
      if isWoken() { readAt = min(readAt, lastRead.map { $0 + Self.shortestInterval } ?? readAt) }
      if clock.now >= readAt {
        lastRead = clock.now
        if let found = await read() {
          upcoming = found
          failures = 0
          readAt = clock.now + Self.interval
        } else {
          readAt = clock.now + Self.pauses[min(failures, Self.pauses.count - 1)]
          failures += 1
        }
      }
      // Since the read the clock or the configuration may have changed.
      if !mayBegin() { upcoming = [] }
      let due = upcoming.prefix { wait($0) <= .zero }
      for item in due { begin(item) }
      upcoming.removeFirst(due.count)
      await nap(until: upcoming.first.map { min(clock.now + wait($0), readAt) } ?? readAt)
    }
  }

  private func isWoken() -> Bool {
    state.withLock { state in
      defer { state.isWoken = false }
      return state.isWoken
    }
  }

  /// Sleeps until a point, or until the loop is woken.
  private func nap(until point: MonotonicTime) async {
    let nap = Task { [clock] in _ = await clock.hasSlept(until: point) }
    let isAwake = state.withLock { state in
      state.nap = nap
      return state.isWoken || state.isStopped
    }
    if isAwake { nap.cancel() }
    await nap.value
    state.withLock { $0.nap = nil }
  }
}
