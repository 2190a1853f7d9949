// The callback operations of the PostgreSQL store.

public import Gate
import Platform
public import Store

extension PostgresStore {
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

  /// Nothing that was begun before this, and whose fate was not known, comes later: it is waited for.
  public func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant)
    async throws(StoreError)
  {
    try await settleDoubts()
    try await sessions.withdraw(id, returning: receipts, at: now)
  }

  /// Waits for the transactions with an unknown outcome. If one of them is still open, or another task looks, that is no failure of the
  /// store: this function throws, and `health` does not change.
  func settleDoubts() async throws(StoreError) {
    let open = StoreError(.unavailable, "doubt", "a transaction that may save the record has not ended")
    guard instance.hasDoubts else { return }
    guard let marks = instance.lookAtDoubts(at: clock.now) else { throw open }
    var isAll = false
    defer { instance.looked(isAll: isAll, at: clock.now) }
    isAll = try await sessions.call(.updates) { session throws(StoreError) in
      try session.settleDoubts(marks)
    }
    guard isAll else { throw open }
  }

  public func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.callback(id, of: callerID) }
  }

  /// An instance is gone when it was closed, or ten seconds after its last sign of life by the server's clock, if this instance gave
  /// signs of life all that time. So an outage of the server makes no instance seem gone.
  @discardableResult
  public func recoverCallbacks(
    at now: Instant, besides inHand: Set<CallbackID>
  ) async throws(StoreError) -> RecoveredRecords {
    try await sessions.call(.writes, isProbe: true) { session throws(StoreError) in
      try session.recover(at: now, besides: inHand)
    }
  }

  /// Deletes expired rows of callbacks, in portions.
  func purgeCallbacks(at now: Instant) async throws(StoreError) -> Int {
    var total = 0
    for table in CallbackTable.allCases {
      var removed = 0
      repeat {
        removed = try await sessions.call(.updates) { session throws(StoreError) in
          try session.purge(table, at: now, most: 2000)
        }
        total += removed
      } while removed == 2000
    }
    try await sessions.call(.updates) { session throws(StoreError) in try session.purgeInstances() }
    return total
  }
}
