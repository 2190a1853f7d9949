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
          [
            .id(hashes.numbers), .time(call.start.advanced(by: .zero - window.after)),
            .time(call.start.advanced(by: window.before)), .integer(Int64(EndedCall.mostRead)),
          ])
        return EndedCall.candidate(among: rows.map(\.record), for: hashes.call)
      }
      guard let candidate else { return otherwise }
      let record = try await sessions.commit { onResult in
        .callback(.conclude(candidate, call.outcome, of: call.id, at: now, onResult))
      }
      if let record { return .set(record) }
    }
    // Each round another call explained the callback, or it ended otherwise.
    return .pending
  }
}
