// The callback operations of the SQLite store.

public import Gate
public import Store

extension SQLiteStore {
  public func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError)
    -> CallbackStanding
  {
    try await sessions.call(.reads) { session throws(StoreError) in try session.standing(of: intent, at: now)
    }
  }

  public func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning {
    try await sessions.begin(intent, at: now)
  }

  @discardableResult
  public func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError)
    -> StoredCallback?
  {
    try await sessions.settle(id, settlement)
  }

  public func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant)
    async throws(StoreError)
  {
    try await sessions.withdraw(id, returning: receipts, at: now)
  }

  public func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.callback(id, of: callerID) }
  }

  /// A process is alive as long as it has the store open. When it has ended, another process recovers its records at once.
  @discardableResult
  public func recoverCallbacks(
    at now: Instant, besides inHand: Set<CallbackID>
  ) async throws(StoreError) -> RecoveredRecords {
    try await sessions.call(.updates, isProbe: true) { session throws(StoreError) in
      try session.recover(at: now, besides: inHand)
    }
  }

  /// Deletes expired rows of callbacks, in portions of a few milliseconds, because callbacks wait behind each portion.
  func purgeCallbacks(at now: Instant) async throws(StoreError) -> Int {
    let portion = 250
    var total = 0
    for table in CallbackTable.allCases {
      var removed = 0
      repeat {
        removed = try await sessions.call(.updates) { session throws(StoreError) in
          try session.purge(table, at: now, most: Int64(portion))
        }
        total += removed
      } while removed == portion
    }
    return total
  }
}
