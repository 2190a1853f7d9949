// Passes callback operations to a database session, for every store that has sessions.

package import Gate

extension SessionQueue {
  /// Waits until an intent is kept, or known not to be.
  package func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning
  {
    try await commit { onResult in .callback(.begin(intent, at: now, onResult)) }
  }

  /// Waits until a record is settled.
  package func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError)
    -> StoredCallback?
  {
    try await commit { onResult in .callback(.settle(id, settlement, onResult)) }
  }

  /// Waits until a record is withdrawn.
  package func withdraw(_ id: CallbackID) async throws(StoreError) {
    let _: Bool = try await commit { onResult in .callback(.withdraw(id, onResult)) }
  }
}
