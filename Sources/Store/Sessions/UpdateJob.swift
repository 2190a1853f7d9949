// A change of the store that waits to be committed together with others in one transaction.

package import Gate
package import JOSE

/// A caller's change, which is committed together with the others that wait.
package struct UpdateJob: Sendable {
  package enum Work: Sendable {
    /// A change of allowances: the keys to read and lock, the time, and the function that makes the change.
    /// The function reports its own result.
    case allowances([AllowanceKey], at: Instant, @Sendable ([AllowanceState?], Instant) -> [AllowanceWrite])
    /// A change of a callback.
    indirect case callback(CallbackWork)
    /// A function that a session runs in the transaction of the other jobs
    /// (`DatabaseSession.sharesTransactions`).
    case session(@Sendable (any DatabaseSession) throws(StoreError) -> Void)
  }

  package let work: Work
  /// Whether the job only changes allowances.
  package var counts: Bool { if case .allowances = work { true } else { false } }
  /// Tells the caller that the job is committed, or the error. Only the first call counts.
  let finish: @Sendable (StoreError?) -> Void
}

/// A change of a callback, with the function that gets its result. The change may run more than once, because
/// its transaction may.
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
