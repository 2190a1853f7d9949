// The protocol for callback records: saved before the request is sent, settled once, recovered after a crash.

public import Gate

/// A store of callbacks, so that none is sent twice: see docs/build/callbacks.md.
///
/// When a function returns, its change survives the process and a power cut, except in the store in memory.
/// When it throws, nothing was changed, unless the error is in doubt (`StoreError.isInDoubt`): then the
/// change may have happened, or may still happen. After such a `begin`, call `withdraw`.
public protocol CallbackStore: Sendable {
  /// The state of an intent, in one read that does not wait for other transactions.
  func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackStanding

  /// Saves an intent as `pending`, with its key and its dedupe entry, unless the store already has one of
  /// these. All of it is one transaction, so only one of many equal intents in all instances begins. The key
  /// is checked before the number, and both before the allowances (`CallbackIntent.charges`), which the same
  /// transaction takes.
  func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning

  /// Settles a `pending` record. A record that is settled already stays as it is. Only the process that began
  /// a record, or marked it for its call, settles it. So its outcome replaces an `unknown` that recovery has
  /// written meanwhile.
  ///
  /// - Returns: The record as it is now, so that a late writer sees the outcome that others have read; nil if
  ///   there is no record.
  @discardableResult
  func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError) -> StoredCallback?

  /// Removes a `pending` record with its key and its dedupe entry, as if it had never begun. Call it only if
  /// certainly nothing was sent for the record. An `unknown` that recovery has written meanwhile is removed
  /// too. An appointment or a settled record stays as it is. When this returns, no earlier `begin` can still
  /// save the record. If it throws, the caller has to try again.
  ///
  /// - Parameter receipts: The allowances that the record has taken. They are given back if the record is
  ///   removed now.
  func withdraw(_ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant)
    async throws(StoreError)

  /// The record with an id; nil if there is none, or if it belongs to another caller.
  func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback?

  /// Marks abandoned `pending` records as `unknown`. A record is abandoned if its process has ended. A record
  /// of this process is abandoned if its deadline has passed by `CallbackRecovery.grace` and `inHand` does
  /// not list it. Other living processes settle their own records. Also renews this process's heartbeat, in
  /// stores that other processes share. Call it after `migrate` and about each second.
  ///
  /// - Parameter inHand: The records that this process will still settle or withdraw, however late.
  /// - Returns: The number of records that became `unknown`.
  @discardableResult
  func recoverCallbacks(
    at now: Instant, besides inHand: Set<CallbackID>
  ) async throws(StoreError) -> RecoveredRecords
}

extension CallbackStore {
  /// Removes a record that has used no allowances.
  public func withdraw(_ id: CallbackID) async throws(StoreError) {
    try await withdraw(id, returning: [], at: Instant(nanosecondsSinceEpoch: 0))
  }

  /// Recovers callbacks in a process that has none of its own to settle.
  @discardableResult
  public func recoverCallbacks(at now: Instant) async throws(StoreError) -> RecoveredRecords {
    try await recoverCallbacks(at: now, besides: [])
  }
}

/// The number of records that recovery made `unknown`, by what was requested.
public struct RecoveredRecords: Hashable, Sendable {
  /// Calls, including those of appointments.
  public private(set) var callbacks: Int
  /// Tickets of chat desks.
  public private(set) var tickets: Int

  public init(callbacks: Int = 0, tickets: Int = 0) {
    self.callbacks = callbacks
    self.tickets = tickets
  }

  public var isEmpty: Bool { callbacks == 0 && tickets == 0 }

  package mutating func add(_ record: StoredCallback) {
    if record.ticket == nil { callbacks += 1 } else { tickets += 1 }
  }
}

/// The recovery of records that no process will settle: they become `unknown`.
public enum CallbackRecovery {
  /// The time from a record's deadline to its recovery. It allows for the difference between the instances'
  /// clocks, and for the duration of a commit.
  public static let grace = Duration.seconds(10)
  /// The code of a recovered record.
  public static let code = "outcome_unknown"
}
