// Identifies one outgoing request by its deadline and whether it was cancelled.

import Platform
import Synchronization

/// The identity of one call of `send`: its deadline, and whether its task was cancelled.
final class Ticket: Sendable {
  /// When the caller gets its answer at the latest.
  let deadline: MonotonicTime
  private let cancelled = Atomic(false)

  init(deadline: MonotonicTime) { self.deadline = deadline }

  /// Marks the ticket, before the thread is notified. So a cancellation that overtakes its submission still
  /// counts.
  func cancel() { cancelled.store(true, ordering: .releasing) }

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }
  var id: ObjectIdentifier { ObjectIdentifier(self) }
}
