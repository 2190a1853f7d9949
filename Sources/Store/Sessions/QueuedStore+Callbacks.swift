// The store's operations on callbacks, run in database sessions.

package import Gate

extension QueuedStore {
  package func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError)
    -> CallbackStanding
  {
    try await sessions.call(.reads) { session throws(StoreError) in
      var standing = try session.standing(of: intent, at: now)
      if let number = intent.ownership {
        standing.proven = try session.rows(ProvenNumberStatements.proven, [.id(number.id)]).first
      }
      if let id = intent.screening {
        standing.screening = try session.rows(ScreeningStatements.verdict, [.id(id)]).first
      }
      return standing
    }
  }

  package func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning
  {
    try health.checkClock()
    let beginning = try await sessions.commit { onResult in .callback(.begin(intent, at: now, onResult)) }
    if beginning == .begun { await remember(intent, at: now) }
    return beginning
  }

  @discardableResult
  package func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError)
    -> StoredCallback?
  {
    try await sessions.commit { onResult in .callback(.settle(id, settlement, onResult)) }
  }

  /// Waits for earlier transactions whose outcome is not known, so that none of them can save the record
  /// later.
  package func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant)
    async throws(StoreError)
  {
    try await settleDoubts()
    let _: Bool = try await sessions.commit { onResult in
      .callback(.withdraw(id, receipts, at: now, onResult))
    }
  }

  package func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback? {
    let record = try await rows(CallbackStatements.record, .id(id.id)).first?.record
    return record.flatMap { $0.isOwned(by: callerID) ? $0 : nil }
  }

  package func callbacks(_ query: CallbackQuery) async throws(StoreError) -> [StoredCallback] {
    try await rows(CallbackStatements.page(query.status), .id(query.bound), .integer(Int64(query.limit)))
      .map(\.record)
  }

  @discardableResult
  package func recoverCallbacks(
    at now: Instant, besides inHand: Set<CallbackID>
  ) async throws(StoreError) -> RecoveredRecords {
    try await sessions.call(Session.recovery, isProbe: true) { session throws(StoreError) in
      try session.recover(at: now, besides: inHand)
    }
  }
}
