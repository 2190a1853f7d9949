// Identifies one outgoing request, with its deadlines and whether it was canceled.

import HTTP
import Platform
import Synchronization

/// The identity of one call of `send`: its deadlines, and whether its task was canceled.
final class Ticket: Sendable {
  /// The time by which the caller gets a result.
  let deadline: MonotonicTime
  /// The time by which the first byte of the request must leave. After that, nothing is sent. Never later
  /// than `deadline`.
  let startBy: MonotonicTime
  private let cancelled = Atomic(false)

  /// A ticket for a request that is made now.
  init(_ request: OutboundRequest, now: MonotonicTime) {
    deadline = now + request.timeout
    startBy = min(deadline, now + (request.startWithin ?? request.timeout))
  }

  /// Marks the ticket, before the thread is notified. So a cancellation that overtakes its submission still
  /// counts.
  func cancel() { cancelled.store(true, ordering: .releasing) }

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }
  var id: ObjectIdentifier { ObjectIdentifier(self) }
}
