// The state that all loops of a server share: open connections, deferred requests and the stage of shutdown.

import Synchronization

/// The state that all loops of a server share.
final class ServerState: Sendable {
  /// Open connections that count toward the limit.
  let connections = Atomic<Int>(0)
  /// Requests that are deferred and not answered yet, whether or not their clients are still connected.
  let deferred = Atomic<Int>(0)
  /// Whether all responses carry `Connection: close`.
  let isDraining = Atomic<Bool>(false)
  /// Whether connections close as soon as they are idle.
  let isEnding = Atomic<Bool>(false)
  /// The budget for responses that wait for clients to read.
  let unsent: OctetBudget
  /// The budget for unfinished requests.
  let unfinished: OctetBudget
  /// The tasks that wait for the last connection to close.
  private let waiters = Mutex<[CheckedContinuation<Void, Never>]>([])

  init(_ limits: ServerLimits) {
    unsent = OctetBudget(limit: limits.unsentOctets) { $0.closeUnread() }
    unfinished = OctetBudget(limit: limits.unfinishedOctets) { $0.closeUnfinished() }
  }

  /// Stops counting a connection that has closed. During shutdown, the last one wakes the waiting tasks.
  func connectionClosed() {
    guard connections.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    guard isEnding.load(ordering: .acquiring) else { return }
    wakeWaiters()
  }

  /// Returns when no counted connection is open.
  func waitUntilEmpty() async {
    await withCheckedContinuation { continuation in
      waiters.withLock { $0.append(continuation) }
      // Checked after the waiter was added, so that the end of the last connection cannot be missed.
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
