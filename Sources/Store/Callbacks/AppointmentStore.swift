// The protocol for appointments: booked once, marked before the call by exactly one instance, and ended once.

public import Gate

/// A store of appointments. An appointment is a callback record with a time; see docs/build/appointments.md.
///
/// Durability and errors in doubt are as in `CallbackStore`. `settle` ends a `pending` appointment like any
/// other callback, and wipes its content in the same commit. So does recovery.
public protocol AppointmentStore: Sendable {
  /// Saves a booking as `scheduled`. Refuses it if its installation was revoked or replaced, if its key was
  /// used, if the owner's other appointments forbid it, if the slot is full, or if an allowance is exhausted,
  /// checked in this order. The limits also apply to parallel bookings of all instances. The allowances of
  /// the booking (`CallbackIntent.charges`) are taken in the same transaction. After an error in doubt, the
  /// booking cannot be withdrawn: any instance may already have confirmed it.
  func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult

  /// Moves a `scheduled` appointment to another time. The owner's other appointments and the slot are checked
  /// as for a booking, and the appointment's own place does not count. No allowances are taken. The
  /// appointment keeps its key, and keeps its content unless the booking replaces it.
  func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult

  /// Replaces the sealed content of a `scheduled` appointment.
  ///
  /// - Returns: Whether the content was replaced. False if the appointment is not `scheduled` or has other
  ///   content.
  func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool

  /// Ends a `scheduled` appointment. An ending with a due time or a serial number has no effect if the
  /// appointment has another one by now. If the appointment is canceled by its owner, declined or revoked, it
  /// gives its place in the slot back. Its dedupe entry is freed in any case. After an error in doubt, call
  /// `certainRecord`. Do not call `end` again: the owner may have moved the appointment since.
  ///
  /// - Parameter receipts: The allowances that the booking took. The transaction that ends the appointment
  ///   gives them back.
  func end(
    _ id: CallbackID, _ ending: AppointmentEnding, returning receipts: [AllowanceReceipt], at now: Instant
  ) async throws(StoreError) -> EndResult

  /// Makes a `scheduled` appointment `pending`, so that only this process makes the call.
  ///
  /// - Parameters:
  ///   - due: The due time when the appointment was read. The mark fails if the appointment has another due
  ///     time by now, because it was moved or another instance tried it.
  ///   - deadline: The latest time of the settlement.
  ///   - handover: The numbers of the call; nil if the appointment's content does not have them.
  /// - Returns: Whether this process may make the call. False if another instance has marked it first, or if
  ///   the appointment was moved or has ended.
  func mark(_ id: CallbackID, for due: Instant, deadline: Instant, _ handover: CallHandover?)
    async throws(StoreError) -> Bool

  /// Reads a record, to find out after an error in doubt whether an appointment was booked or ended. Once
  /// this function returns, no earlier transaction in doubt of this process can still change the record.
  /// Throws until that is certain.
  ///
  /// - Returns: Nil if there is no such record, and never will be.
  func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback?

  /// Removes the mark of this process, so that the call is tried again. Call it only if the provider
  /// certainly accepted nothing. An appointment that is already `scheduled` stays unchanged, so that a
  /// repeated call does not undo a later change.
  ///
  /// - Parameters:
  ///   - due: The time of the next try.
  ///   - code: Why the try failed: a problem's code. Nil if it does not count as a try.
  /// - Returns: Whether the appointment is `scheduled` now.
  @discardableResult
  func postpone(_ id: CallbackID, until due: Instant, code: String?)
    async throws(StoreError) -> Bool

  /// The `scheduled` appointments that are due at a time, the earliest first.
  func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment]

  /// One appointment with its content, if it is `scheduled`.
  func scheduledAppointment(_ id: CallbackID) async throws(StoreError) -> DueAppointment?

  /// The `scheduled` appointments of an owner, the earliest first.
  func appointments(of callerID: String, subject: String, most: Int) async throws(StoreError)
    -> [StoredCallback]

  /// `scheduled` appointments whose origin is only in their sealed content.
  func appointmentsWithoutOrigin(most: Int) async throws(StoreError) -> [DueAppointment]

  /// Saves the origin of an appointment that `appointmentsWithoutOrigin` returned. A saved origin is never
  /// replaced.
  func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError)

  /// The number of taken places in each slot that begins in a range of seconds since the epoch. Empty slots
  /// are left out.
  func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int]

  /// Callbacks of any owner by their alias, the newest first.
  func callbacks(_ query: AliasQuery) async throws(StoreError) -> [StoredCallback]

  /// Records of any owner, for requests that wait for a change. Ids without a record are left out.
  func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback]

  /// The number of appointments in each state. An appointment is overdue if it was due before a time.
  func appointmentCounts(dueBefore time: Instant) async throws(StoreError) -> AppointmentCounts
}

extension AppointmentStore {
  /// Ends an appointment that has used no allowances.
  public func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) async throws(StoreError)
    -> EndResult
  {
    try await end(id, ending, returning: [], at: now)
  }

  /// Marks an appointment whose outcome is not awaited.
  public func mark(_ id: CallbackID, for due: Instant, deadline: Instant) async throws(StoreError) -> Bool {
    try await mark(id, for: due, deadline: deadline, nil)
  }
}
