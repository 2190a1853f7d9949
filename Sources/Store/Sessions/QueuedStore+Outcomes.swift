// The store's operations on call outcomes, run in database sessions.

package import Gate

extension QueuedStore {
  /// The maximum number of attempts at a match while other transactions are faster.
  private static var mostRounds: Int { 3 }

  package func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant)
    async throws(StoreError) -> CallMatch
  {
    for _ in 0..<Self.mostRounds {
      let found = try await sessions.call(.reads) { session throws(StoreError) in
        try session.candidate(for: call, within: window)
      }
      guard let candidate = found.callback else { return found.otherwise }
      let record = try await sessions.commit { onResult in
        .callback(.conclude(candidate, call, within: window, at: now, onResult))
      }
      if let record { return .set(record) }
    }
    // Each round lost a race: before its commit, the callback got the outcome of another call or ended in
    // another way, or a second callback became a match for this call.
    return .pending
  }
}

extension DatabaseSession {
  /// The callback that a call belongs to; nil and the reason if there is none.
  fileprivate func candidate(
    for call: EndedCall, within window: CallWindow
  ) throws(StoreError) -> (callback: CallbackID?, otherwise: CallMatch) {
    let hashes = try hashes(of: call)
    let rows = try rows(
      CallbackStatements.ofCall, SoughtCall(call, hashes.numbers, within: window).parameters)
    let found = EndedCall.candidate(among: rows.map(\.record), for: hashes.call, call.outcome)
    guard found.callback != nil, try mayHaveUnsavedNumbers(call, within: window) else { return found }
    return (nil, .none)
  }

  /// Whether a call may belong to a callback whose numbers were not saved. Earlier releases saved numbers
  /// only if outcomes were configured. After the last callback without numbers, the first callback with
  /// numbers shows when the saving began. A call that began at least `window.after` later than that one can
  /// only belong to a callback with saved numbers.
  fileprivate func mayHaveUnsavedNumbers(
    _ call: EndedCall, within window: CallWindow
  ) throws(StoreError) -> Bool {
    guard let last = try rows(CallbackStatements.lastWithoutNumbers, []).first else { return false }
    let id = CallbackID(at: last).id
    guard let first = try rows(CallbackStatements.firstWithNumbers, [.id(id)]).first else { return true }
    return call.start < first.advanced(by: window.after)
  }
}
