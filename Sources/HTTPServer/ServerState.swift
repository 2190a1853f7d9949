// The state that all loops of a server share: open connections, deferred requests and the stage of shutdown.

import Synchronization

/// The state that all loops of a server share.
final class ServerState: Sendable {
  /// Open connections that count.
  let connections = Atomic<Int>(0)
  /// Requests that are deferred and not answered yet, whether or not their clients are still connected.
  let deferred = Atomic<Int>(0)
  /// Answers carry `Connection: close`.
  let isDraining = Atomic<Bool>(false)
  /// Connections end as soon as they have nothing in hand.
  let isEnding = Atomic<Bool>(false)
  /// What the connections hold for clients that do not read.
  let unsent: OctetBudget
  /// What they hold of requests that have not come whole.
  let unfinished: OctetBudget
  /// Who waits for the last connection to close.
  private let waiters = Mutex<[CheckedContinuation<Void, Never>]>([])

  init(_ limits: ServerLimits) {
    unsent = OctetBudget(limit: limits.unsentOctets) { $0.closeUnread() }
    unfinished = OctetBudget(limit: limits.unfinishedOctets) { $0.closeUnfinished() }
  }

  /// A connection that was counted has closed.
  func connectionClosed() {
    guard connections.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    guard isEnding.load(ordering: .acquiring) else { return }
    wakeWaiters()
  }

  /// Returns when no connection is open any more, or `wakeWaiters` is called.
  func waitUntilEmpty() async {
    await withCheckedContinuation { continuation in
      waiters.withLock { $0.append(continuation) }
      // Looked at after the waiter is in its place, so that the last connection cannot be missed.
      if connections.load(ordering: .acquiring) == 0 { wakeWaiters() }
    }
  }

  /// Wakes all waiting tasks.
  func wakeWaiters() {
    let all = waiters.withLock { list in
      defer { list = [] }
      return list
    }
    for continuation in all { continuation.resume() }
  }
}
