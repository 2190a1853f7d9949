// The callback operations of the store in memory.

public import Gate
import Synchronization

extension MemoryStore {
  public func standing(of intent: CallbackIntent, at now: Instant) -> CallbackStanding {
    callbacks.withLock { $0.standing(of: intent, at: now) }
  }

  public func begin(_ intent: CallbackIntent, at now: Instant) -> CallbackBeginning {
    callbacks.withLock { $0.begin(intent, at: now) }
  }

  @discardableResult
  public func settle(_ id: CallbackID, _ settlement: CallbackSettlement) -> StoredCallback? {
    callbacks.withLock { $0.settle(id, settlement) }
  }

  public func withdraw(_ id: CallbackID) { callbacks.withLock { $0.withdraw(id) } }

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
