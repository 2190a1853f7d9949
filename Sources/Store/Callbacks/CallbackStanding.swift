// Determines whether a new callback may begin, given the records that the store already has.

public import Gate

/// The state of a request's key: an `Idempotency-Key`, or the key of an AI agent's request.
public enum KeyStanding: Hashable, Sendable {
  /// The key may be used: there is no key, or it was never used, has expired, or was freed by its callback.
  case free
  /// The first request is still running.
  case inProgress(CallbackID)
  /// The key was used for another request.
  case mismatch
  /// Retries get the saved record: the first request is settled, has booked an appointment, or came from an
  /// AI agent.
  case replay(StoredCallback)
}

/// The state of an intent. It is read without a lock, so `begin` may find another state.
public struct CallbackStanding: Hashable, Sendable {
  /// The state of the intent's key, which is checked before the rules.
  public let key: KeyStanding
  /// The earlier callback or ticket that makes the intent a duplicate, if there is one. It is checked after
  /// the rules. Not for appointments: `book` finds their duplicates.
  public let duplicate: CallbackID?
  /// When the number of `CallbackIntent.ownership` was proven. Nil if the store does not remember it.
  public var proven: Instant?
  /// The saved verdict on the number. Nil if there is none, or if `CallbackIntent.screening` is nil.
  public var screening: ScreeningVerdict?

  public init(key: KeyStanding, duplicate: CallbackID?) {
    self.key = key
    self.duplicate = duplicate
  }
}

/// The result of `begin`.
public enum CallbackBeginning: Hashable, Sendable {
  /// The record is saved as `pending`, and durable. Now the request may be sent.
  case begun
  /// Not saved: the callback with this id makes the new one a duplicate.
  case duplicate(CallbackID)
  /// Not saved: the first request with this key is still running.
  case inProgress(CallbackID)
  /// Not saved: the key was used for another request.
  case mismatch
  /// Not saved: the first request with this key has a record, which answers retries (`KeyStanding.replay`).
  case replay(StoredCallback)
  /// Not saved: an allowance is exhausted (`RecordCharges.refusal`). There is no other obstacle.
  case exhausted
}
