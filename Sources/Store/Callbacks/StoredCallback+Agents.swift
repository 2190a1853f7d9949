// When the record of an AI agent's request answers another request.

import Gate

extension StoredCallback {
  /// The state of an agent's key that names this record, for a request that repeats callbacks of a span.
  ///
  /// - Parameters:
  ///   - span: For how long after its creation a callback is answered.
  ///   - now: In nanoseconds since the epoch.
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
