// Decides whether a later request of an AI agent gets its earlier callback.

import Gate

extension StoredCallback {
  /// The state of the agent's key with which this callback was requested.
  ///
  /// - Parameters:
  ///   - span: How long after the callback's creation a repeated request gets the callback.
  ///   - now: The time, in nanoseconds since the epoch.
  func standing(repeatedFor span: Duration, at now: Int64) -> KeyStanding {
    switch status {
    case .failed, .cancelled, .expired: .free
    // While the first request may still run, do not start a second.
    case .pending: .replay(self)
    case .scheduled, .accepted, .unknown:
      now < createdAt.nanosecondsSinceEpoch.adding(span) ? .replay(self) : .free
    }
  }
}
