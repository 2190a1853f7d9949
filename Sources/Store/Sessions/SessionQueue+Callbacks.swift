// Passes callback operations to a database session, for every store that has sessions.

package import Gate
package import JOSE

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
  package func withdraw(
    _ id: CallbackID, returning receipts: [AllowanceReceipt], at now: Instant
  ) async throws(StoreError) {
    let _: Bool = try await commit { onResult in .callback(.withdraw(id, receipts, at: now, onResult)) }
  }

  // MARK: Appointments

  package func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult {
    try await commit { onResult in .callback(.book(booking, at: now, onResult)) }
  }

  package func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult {
    try await commit { onResult in .callback(.move(booking, at: now, onResult)) }
  }

  package func rewrite(
    _ id: CallbackID, from old: [UInt8], to new: [UInt8]
  ) async throws(StoreError) -> Bool {
    try await commit { onResult in .callback(.rewrite(id, from: old, to: new, onResult)) }
  }

  package func mark(_ id: CallbackID, for due: Instant, deadline: Instant) async throws(StoreError) -> Bool {
    try await commit { onResult in .callback(.mark(id, for: due, deadline: deadline, onResult)) }
  }

  package func postpone(_ id: CallbackID, until due: Instant, code: String?) async throws(StoreError) -> Bool
  {
    try await commit { onResult in .callback(.postpone(id, until: due, code: code, onResult)) }
  }

  package func end(
    _ id: CallbackID, _ ending: AppointmentEnding, at now: Instant
  ) async throws(StoreError) -> EndResult {
    try await commit { onResult in .callback(.end(id, ending, at: now, onResult)) }
  }

  // MARK: Notices

  package func takeNotice(
    _ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant
  ) async throws(StoreError) -> Bool {
    try await commit { onResult in .callback(.takeNotice(notice, id: id, until: lease, at: now, onResult)) }
  }

  package func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError) {
    let _: Bool = try await commit { onResult in .callback(.settleNotice(notice, outcome, onResult)) }
  }

  package func reschedule(
    _ change: Rescheduling, at now: Instant
  ) async throws(StoreError) -> ReschedulingResult {
    try await commit { onResult in .callback(.reschedule(change, at: now, onResult)) }
  }

  package func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError) {
    let _: Bool = try await commit { onResult in .callback(.note(origin, of: id, onResult)) }
  }

  package func told(_ id: CallbackID) async throws(StoreError) {
    let _: Bool = try await commit { onResult in .callback(.told(id, onResult)) }
  }
}
