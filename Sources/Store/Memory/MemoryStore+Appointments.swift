// The appointment operations of the store in memory.

public import Gate
import Synchronization

extension MemoryStore {
  public func book(_ booking: Booking, at now: Instant) -> BookingResult {
    installed.withLock { installed in
      let living = booking.intent.installation.flatMap { installed.living($0) }?.identity
      return with(booking.intent.chargedKeys) { states in
        callbacks.withLock { $0.book(booking, living: living, from: states, at: now) }
      }
    }
  }

  public func move(_ booking: Booking, at now: Instant) -> MoveResult {
    callbacks.withLock { $0.move(booking, at: now) }
  }

  public func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) -> Bool {
    callbacks.withLock { $0.rewrite(id, old, new) }
  }

  public func callbacks(_ query: AliasQuery) -> [StoredCallback] { callbacks.withLock { $0.records(query) } }

  public func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) -> EndResult {
    callbacks.withLock { $0.end(id, ending, at: now) }
  }

  public func certainRecord(_ id: CallbackID) -> StoredCallback? { callbacks.withLock { $0.record(id) } }

  public func mark(_ id: CallbackID, for due: Instant, deadline: Instant) -> Bool {
    callbacks.withLock { $0.mark(id, for: due, deadline: deadline) }
  }

  @discardableResult
  public func postpone(_ id: CallbackID, until due: Instant, code: String?) -> Bool {
    callbacks.withLock { $0.postpone(id, until: due, code: code) }
  }

  public func dueAppointments(at time: Instant, most: Int) -> [DueAppointment] {
    callbacks.withLock { $0.due(at: time.nanosecondsSinceEpoch, most: most) }
  }

  public func scheduledAppointment(_ id: CallbackID) -> DueAppointment? {
    callbacks.withLock { $0.appointment(id) }
  }

  public func appointments(of callerID: String, subject: String, most: Int) -> [StoredCallback] {
    callbacks.withLock { $0.appointments(of: callerID, subject: subject, most: most) }
  }

  public func appointmentsWithoutOrigin(most: Int) -> [DueAppointment] {
    callbacks.withLock { $0.withoutOrigin(most: most) }
  }

  public func note(_ origin: CallbackOrigin, of id: CallbackID) {
    callbacks.withLock { $0.note(origin, of: id) }
  }

  public func takenPlaces(in slots: ClosedRange<Int64>) -> [Int64: Int] {
    callbacks.withLock { $0.taken(in: slots) }
  }

  public func callbacks(_ ids: Set<CallbackID>) -> [StoredCallback] {
    callbacks.withLock { callbacks in ids.compactMap { callbacks.record($0) } }
  }

  public func appointmentCounts(dueBefore time: Instant) -> AppointmentCounts {
    callbacks.withLock { $0.counts(dueBefore: time) }
  }
}
