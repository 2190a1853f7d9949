// The outcomes of a store over database sessions.

package import Gate

extension QueuedStore {
  /// How often a transaction may find that another one was faster.
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
    // Each round another call explained the callback, another callback may have had the call, or it ended otherwise.
    return .pending
  }
}

extension DatabaseSession {
  /// The callback that a call explains; nil and what it is otherwise.
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

  /// Whether a call may be that of a callback whose numbers were not saved. Former releases saved them only where outcomes were
  /// configured. So no call counts that began before the first callback after those, and `window.after` more.
  fileprivate func mayHaveUnsavedNumbers(
    _ call: EndedCall, within window: CallWindow
  ) throws(StoreError) -> Bool {
    guard let last = try rows(CallbackStatements.lastWithoutNumbers, []).first else { return false }
    let id = CallbackID(at: last).id
    guard let first = try rows(CallbackStatements.firstWithNumbers, [.id(id)]).first else { return true }
    return call.start < first.advanced(by: window.after)
  }
}
