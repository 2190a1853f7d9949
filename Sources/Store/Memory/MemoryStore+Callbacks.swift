// The callback operations of the store in memory.

public import Gate
import Synchronization

extension MemoryStore {
  public func standing(of intent: CallbackIntent, at now: Instant) -> CallbackStanding {
    callbacks.withLock { $0.standing(of: intent, at: now) }
  }

  public func begin(_ intent: CallbackIntent, at now: Instant) -> CallbackBeginning {
    with(intent.chargedKeys) { states in callbacks.withLock { $0.begin(intent, from: states, at: now) } }
  }

  @discardableResult
  public func settle(_ id: CallbackID, _ settlement: CallbackSettlement) -> StoredCallback? {
    with(settlement.returned.map { AllowanceReceipt($0).key }) { states in
      callbacks.withLock { $0.settle(id, settlement, returningTo: states) }
    }
  }

  public func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant) {
    with(receipts.map(\.key)) { states in
      let isWithdrawn = callbacks.withLock { $0.withdraw(id) }
      return ((), isWithdrawn ? receipts.returns(to: states, at: now) : [])
    }
  }

  public func callback(_ id: CallbackID, of callerID: String) -> StoredCallback? {
    callbacks.withLock { $0.record(id) }.flatMap { $0.isOwned(by: callerID) ? $0 : nil }
  }

  public func callbacks(_ query: CallbackQuery) -> [StoredCallback] {
    callbacks.withLock { $0.records(query) }
  }

  /// Nothing outlives this process, so only deadlines are looked at.
  @discardableResult
  public func recoverCallbacks(at now: Instant, besides inHand: Set<CallbackID>) -> RecoveredRecords {
    callbacks.withLock { $0.recover(at: now, besides: inHand) }
  }
}
