// The outcomes of a store over database sessions.

package import Gate

extension QueuedStore {
  /// How often a transaction may find that another one was faster.
  private static var mostRounds: Int { 3 }

  package func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant)
    async throws(StoreError) -> CallMatch
  {
    for _ in 0..<Self.mostRounds {
      let (candidate, otherwise) = try await sessions.call(.reads) { session throws(StoreError) in
        let hashes = try session.hashes(of: call)
        let rows = try session.rows(
          CallbackStatements.ofCall,
          SoughtCall(call, hashes.numbers, within: window).parameters)
        return EndedCall.candidate(among: rows.map(\.record), for: hashes.call, call.outcome)
      }
      guard let candidate else { return otherwise }
      let record = try await sessions.commit { onResult in
        .callback(.conclude(candidate, call, within: window, at: now, onResult))
      }
      if let record { return .set(record) }
    }
    // Each round another call explained the callback, another callback may have had the call, or it ended otherwise.
    return .pending
  }
}
