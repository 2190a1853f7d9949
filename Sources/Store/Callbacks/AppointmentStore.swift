// The protocol for appointments: booked once, marked before the call by exactly one instance, and ended once.

public import Gate

/// A store of appointments. An appointment is a callback record with a time; see docs/build/appointments.md.
///
/// Durability and doubt are as in `CallbackStore`. `settle` ends a `pending` appointment like any other callback, and wipes its
/// content in the same commit. So does recovery.
public protocol AppointmentStore: Sendable {
  /// Saves a booking as `scheduled`, unless its key, an appointment of the same owner or a full slot forbids it, in this order. The
  /// limits hold for parallel bookings of all instances. It takes its allowances (`CallbackIntent.charges`) with the record. After an
  /// error in doubt nothing withdraws it: any instance may already have confirmed it.
  func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult

  /// Gives a `scheduled` appointment another time. The checks are those of a booking, without its own place. Its key stays, and its content unless
  /// the booking replaces it.
  func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult

  /// Replaces the sealed content of a `scheduled` appointment.
  ///
  /// - Returns: Whether it had the old content, and now has the new one.
  func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool

  /// Ends a `scheduled` appointment, if it is still what the end was judged for. A cancelled one gives its place in the slot back. Every
  /// one gives its dedupe entry back. After an error in doubt, ask `certainRecord`. Do not repeat the end: its owner may have moved the
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
  ///   - handover: The numbers of the call; nil where its content has none.
  /// - Returns: Whether this process has it. False if another instance has or had it, and if it was moved or has ended.
  func mark(_ id: CallbackID, for due: Instant, deadline: Instant, _ handover: CallHandover?)
    async throws(StoreError) -> Bool

  /// What came of a booking or an end whose commit was in doubt. Nothing that was in doubt in this process before the call changes the
  /// record after it. Throws as long as that is not certain.
  ///
  /// - Returns: Nil if there is no such record, and never will be.
  func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback?

  /// Takes the mark of this process back, for another try. Call it only if the provider certainly accepted nothing. An appointment that is
  /// `scheduled` stays unchanged, so that a repetition changes nothing that came after the first time.
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

  /// `scheduled` appointments whose origin stands in their sealed content alone.
  func appointmentsWithoutOrigin(most: Int) async throws(StoreError) -> [DueAppointment]

  /// Notes the origin of such an appointment. Others stay as they are.
  func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError)

  /// The number of appointments in each slot that begins in a range of seconds since the epoch. Empty slots are left out.
  func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int]

  /// Callbacks of any owner by their alias, the newest first.
  func callbacks(_ query: AliasQuery) async throws(StoreError) -> [StoredCallback]

  /// Records of any owner, for requests that wait for a change. Missing records are left out.
  func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback]

  /// The number of appointments in each state. Overdue are those that were due before a time.
  func appointmentCounts(dueBefore time: Instant) async throws(StoreError) -> AppointmentCounts
}

extension AppointmentStore {
  /// Ends an appointment that has taken nothing from allowances.
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
