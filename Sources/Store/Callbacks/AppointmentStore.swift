// The protocol for appointments: booked once, marked before the call by exactly one instance, and ended once.

public import Gate

/// Where appointments are kept. An appointment is a callback record with a time; see docs/appointments.md.
///
/// `CallbackStore`'s words about durability and doubt hold here too. `settle` ends an appointment that is `pending` like any other
/// callback, and wipes its content in the same commit, as does recovery.
public protocol AppointmentStore: Sendable {
  /// Saves a booking as `scheduled`, unless its key, an appointment of the same owner or the slot stands against it, in this order.
  /// Of many bookings in all instances, no more get through than the limits say. After an error in doubt, `withdraw` makes sure.
  func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult

  /// Gives a `scheduled` appointment another time, as if it were booked anew without its own place. Its content and key stay.
  func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult

  /// Ends a `scheduled` appointment, but before its time only as `cancelled`. A cancelled one gives its slot back, and each its
  /// dedupe entry.
  func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) async throws(StoreError)
    -> EndResult

  /// Makes a `scheduled` appointment `pending`, which gives this process, and no other, leave to make the call.
  ///
  /// - Parameters:
  ///   - due: When it was due as it was read. One that was moved meanwhile is not marked, nor one that another instance has tried in
  ///     vain: that one waits for its next try.
  ///   - deadline: When it is settled at the latest.
  /// - Returns: Whether this process has it. False where another instance has, or had, and where it was moved or has ended.
  func mark(_ id: CallbackID, for due: Instant, deadline: Instant) async throws(StoreError)
    -> Bool

  /// Makes an appointment that this process marked, or that is `scheduled` still, wait for another try. Certainly nothing was
  /// accepted. One that was moved to a later time than `due` stays as it is.
  ///
  /// - Parameters:
  ///   - due: When it is tried again.
  ///   - code: Why the try was in vain: a problem's code. Nil for what counts as no try.
  /// - Returns: Whether it is `scheduled` now.
  @discardableResult
  func postpone(_ id: CallbackID, until due: Instant, code: String?)
    async throws(StoreError) -> Bool

  /// The `scheduled` appointments that are due at a time, the earliest first.
  func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment]

  /// One appointment with what it needs, if it is `scheduled`.
  func scheduledAppointment(_ id: CallbackID) async throws(StoreError) -> DueAppointment?

  /// The `scheduled` appointments of an owner, the soonest first.
  func appointments(of callerID: String, subject: String, most: Int) async throws(StoreError)
    -> [StoredCallback]

  /// How many places are taken of the slots that begin in a range of seconds since the epoch. A slot without any is left out.
  func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int]

  /// Records of any owner, for those that wait for a change of them. One that does not exist is left out.
  func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback]

  /// How many there are of each kind.
  func appointmentCounts() async throws(StoreError) -> AppointmentCounts
}
