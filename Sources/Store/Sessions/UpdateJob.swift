// One change to a store, waiting to be committed with others in a transaction.

package import Gate
package import JOSE

/// One caller's change, which is committed together with those that wait beside it.
package struct UpdateJob: Sendable {
  package enum Work: Sendable {
    /// Of allowances: the keys to read and lock, the time, and the change. The body keeps its own result.
    case allowances([AllowanceKey], at: Instant, @Sendable ([AllowanceState?], Instant) -> [AllowanceWrite])
    /// Of a callback.
    indirect case callback(CallbackWork)
    /// What a session does by itself, in the transaction of the others (`DatabaseSession.sharesTransactions`).
    case session(@Sendable (any DatabaseSession) throws(StoreError) -> Void)
  }

  package let work: Work
  /// Whether it only counts.
  package var counts: Bool { if case .allowances = work { true } else { false } }
  /// Tells the caller that it is committed, or why not. The first call counts.
  let finish: @Sendable (StoreError?) -> Void
}

/// A change of a callback, and where its result goes. It may run more than once, as its transaction may.
package enum CallbackWork: Sendable {
  case begin(CallbackIntent, at: Instant, @Sendable (CallbackBeginning) -> Void)
  case settle(CallbackID, CallbackSettlement, @Sendable (StoredCallback?) -> Void)
  case withdraw(CallbackID, [AllowanceReceipt], at: Instant, @Sendable (Bool) -> Void)
  case book(Booking, at: Instant, @Sendable (BookingResult) -> Void)
  case move(Booking, at: Instant, @Sendable (MoveResult) -> Void)
  case rewrite(CallbackID, from: [UInt8], to: [UInt8], @Sendable (Bool) -> Void)
  case mark(CallbackID, for: Instant, deadline: Instant, CallHandover?, @Sendable (Bool) -> Void)
  case postpone(CallbackID, until: Instant, code: String?, @Sendable (Bool) -> Void)
  case end(CallbackID, AppointmentEnding, [AllowanceReceipt], at: Instant, @Sendable (EndResult) -> Void)
  case takeNotice(DueNotice, id: SHA256Digest, until: Instant, at: Instant, @Sendable (Bool) -> Void)
  case settleNotice(DueNotice, NoticeOutcome, @Sendable (Bool) -> Void)
  case reschedule(Rescheduling, at: Instant, @Sendable (ReschedulingResult) -> Void)
  case conclude(CallbackID, EndedCall, within: CallWindow, at: Instant, @Sendable (StoredCallback?) -> Void)
  case told(CallbackID, @Sendable (Bool) -> Void)
  case note(CallbackOrigin, of: CallbackID, @Sendable (Bool) -> Void)
}
