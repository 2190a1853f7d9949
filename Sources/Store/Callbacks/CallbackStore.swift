// The protocol for callback records: saved before the request is sent, settled once, recovered after a crash.

public import Gate

/// Where callbacks are kept, so that none is sent twice: see docs/callbacks.md.
///
/// Outside of memory, what changes something survives the process and a power cut when it returns. Where it throws, nothing was
/// changed, unless the error is in doubt (`StoreError.isInDoubt`): then it may have been, or may yet be. `withdraw` after such a
/// `begin` makes sure.
public protocol CallbackStore: Sendable {
  /// How an intent stands: one read that waits for no other caller.
  func standing(of intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackStanding

  /// Keeps an intent as `pending`, with its key and its dedupe place, unless one of them is taken: all in one
  /// transaction, so of many equal ones in all instances exactly one begins. The key is judged before the number.
  func begin(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackBeginning

  /// Moves a `pending` record to its end; one that has moved on already stays as it is. Only the process that began a record
  /// settles it, and knows best: a record that was recovered as `unknown` meanwhile gets its true end.
  ///
  /// - Returns: the record as it stands now, which tells a late writer what others were told; nil where there is none.
  @discardableResult
  func settle(_ id: CallbackID, _ settlement: CallbackSettlement) async throws(StoreError) -> StoredCallback?

  /// Removes a `pending` record of which certainly nothing was sent, with its key and its dedupe place, as if it had
  /// never been begun; one that was recovered as `unknown` meanwhile, too. Where there is none, or it is settled, nothing happens. When this returns, what was in doubt is
  /// decided: the record is not there and will not be. Until it does, it has to be tried again.
  func withdraw(_ id: CallbackID) async throws(StoreError)

  /// A caller's record; nil also where it is another caller's.
  func callback(_ id: CallbackID, of callerID: String) async throws(StoreError) -> StoredCallback?

  /// Makes every `pending` record `unknown` that nobody will settle: its process is gone; or it was begun here, its deadline
  /// has passed by `CallbackRecovery.grace`, and this process does not have it in hand. Records of other processes that are
  /// alive are theirs to settle. Also says, where others need to know, that this process is alive. To be called after
  /// `migrate` and each second or so.
  ///
  /// - Parameter inHand: what this process has yet to settle or withdraw, whatever the clock says.
  /// - Returns: how many became `unknown`.
  @discardableResult
  func recoverCallbacks(at now: Instant, besides inHand: Set<CallbackID>) async throws(StoreError) -> Int
}

extension CallbackStore {
  /// Recovers callbacks where this process has none in hand.
  @discardableResult public func recoverCallbacks(at now: Instant) async throws(StoreError) -> Int {
    try await recoverCallbacks(at: now, besides: [])
  }
}

/// How records become `unknown` that nobody settles.
public enum CallbackRecovery {
  /// How long after its deadline a record is taken for abandoned: more than instances' clocks differ, and than a
  /// commit takes.
  public static let grace = Duration.seconds(10)
  /// The reason such a record shows.
  public static let code = "outcome_unknown"
}
