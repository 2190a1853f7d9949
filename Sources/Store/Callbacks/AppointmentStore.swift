// The protocol for appointments: booked once, marked before the call by exactly one instance, and ended once.

public import Gate

/// A store of appointments. An appointment is a callback record with a time; see docs/build/appointments.md.
///
/// Durability and doubt are as in `CallbackStore`. `settle` ends a `pending` appointment like any other callback, and wipes its
/// content in the same commit. So does recovery.
public protocol AppointmentStore: Sendable {
  /// Saves a booking as `scheduled`, unless its key, an appointment of the same owner or a full slot forbids
  /// it, in this order. The limits also apply to parallel bookings of all instances. The allowances of the
  /// booking (`CallbackIntent.charges`) are taken in the same transaction. After an error in doubt, the
  /// booking is not withdrawn: any instance may already have confirmed it.
  func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult

  /// Moves a `scheduled` appointment to another time. The checks are those of a booking, except for the key,
  /// and the appointment's own place does not count. The appointment keeps its key, and its content unless
  /// the booking replaces it.
  func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult

  /// Replaces the sealed content of a `scheduled` appointment.
  ///
  /// - Returns: Whether it had the old content, and now has the new one.
  func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool

  /// Ends a `scheduled` appointment, unless it has changed since the caller decided to end it. If it is
  /// cancelled, declined or revoked, it gives its place in the slot back. Its dedupe entry is freed in any
  /// case. After an error in doubt, call `certainRecord`. Do not repeat the end: the owner may have moved the
  /// appointment since.
  ///
  /// - Parameter receipts: The allowances that the booking took. The transaction that ends the appointment gives them back.
  func end(
    _ id: CallbackID, _ ending: AppointmentEnding, returning receipts: [AllowanceReceipt], at now: Instant
  ) async throws(StoreError) -> EndResult

  /// Makes a `scheduled` appointment `pending`, so that this process and no other makes the call.
  ///
  /// - Parameters:
  ///   - due: The due time when it was read. The mark fails if the appointment has another due time by now, because it was moved or
  ///     another instance tried it.
  ///   - deadline: The latest time of its settlement.
  ///   - handover: The numbers of the call; nil if its content has none.
  /// - Returns: Whether this process may make the call. False if another instance has or had the mark, or if
  ///   the appointment was moved or has ended.
  func mark(_ id: CallbackID, for due: Instant, deadline: Instant, _ handover: CallHandover?)
    async throws(StoreError) -> Bool

  /// The record after a booking or an end whose commit was in doubt. No earlier transaction of this process
  /// that was in doubt can change the record afterwards. Throws as long as that is not certain.
  ///
  /// - Returns: Nil if there is no such record, and never will be.
  func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback?

  /// Removes the mark of this process, so that the call is tried again. Call it only if the provider
  /// certainly accepted nothing. An appointment that is already `scheduled` stays unchanged, so that a
  /// repetition does not undo what came after the first time.
  ///
  /// - Parameters:
  ///   - due: The time of the next try.
  ///   - code: Why the try failed: a problem's code. Nil if it does not count as a try.
  /// - Returns: Whether it is `scheduled` now.
  @discardableResult
  func postpone(_ id: CallbackID, until due: Instant, code: String?)
    async throws(StoreError) -> Bool

  /// The `scheduled` appointments that are due at a time, the earliest first.
  func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment]

  /// One appointment with its content, if it is `scheduled`.
  func scheduledAppointment(_ id: CallbackID) async throws(StoreError) -> DueAppointment?

  /// The `scheduled` appointments of an owner, the soonest first.
  func appointments(of callerID: String, subject: String, most: Int) async throws(StoreError)
    -> [StoredCallback]

  /// `scheduled` appointments whose origin is only in their sealed content.
  func appointmentsWithoutOrigin(most: Int) async throws(StoreError) -> [DueAppointment]

  /// Saves the origin of such an appointment. Others stay as they are.
  func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError)

  /// The number of appointments in each slot that begins in a range of seconds since the epoch. Empty slots are left out.
  func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int]

  /// Callbacks of any owner by their alias, the newest first.
  func callbacks(_ query: AliasQuery) async throws(StoreError) -> [StoredCallback]

  /// Records of any owner, for requests that wait for a change. Missing records are left out.
  func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback]

  /// The number of appointments in each state. Overdue appointments were due before a time.
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
