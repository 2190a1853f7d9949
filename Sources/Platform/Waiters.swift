// Lets many tasks wait for one event, and lets each stop waiting when it is canceled.

import Synchronization

/// Tasks that wait for one event, each until the event or until it is canceled. (A task that waits for
/// `Task.value` continues to wait after its cancellation.)
public final class Waiters: Sendable {
  private struct State {
    var lastID: UInt64 = 0
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// No task waits.
  public init() {}

  /// The number of waiting tasks.
  public var count: Int { state.withLock { $0.waiting.count } }

  /// Returns after the next `wakeAll`, or as soon as the task is canceled. Returns at once if the event has
  /// taken place already.
  /// - Parameter isOver: Whether the event has taken place already. Called under a lock, so it must not call
  ///   this object.
  public func wait(unless isOver: () -> Bool) async {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLock { state in
          // A cancellation before this point found no task to wake.
          guard !Task.isCancelled, !isOver() else { return false }
          state.waiting[id] = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
    }
  }

  /// Wakes all waiting tasks, because the event has happened.
  public func wakeAll() {
    let all = state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting
    }
    for continuation in all.values { continuation.resume() }
  }
}
