// The appointments of a store for tests: those of the memory behind it.

import Gate
import Store

extension ScriptedStore {
  func book(_ booking: Booking, at now: Instant) throws(StoreError) -> BookingResult {
    try check()
    return memory.book(booking, at: now)
  }

  func move(_ booking: Booking, at now: Instant) throws(StoreError) -> MoveResult {
    try check()
    return memory.move(booking, at: now)
  }

  func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) throws(StoreError) -> EndResult {
    try check()
    return memory.end(id, ending, at: now)
  }

  func mark(_ id: CallbackID, for due: Instant, deadline: Instant) throws(StoreError) -> Bool {
    try check()
    return memory.mark(id, for: due, deadline: deadline)
  }

  func postpone(_ id: CallbackID, until due: Instant, code: String?) throws(StoreError) -> Bool {
    try check()
    return memory.postpone(id, until: due, code: code)
  }

  func dueAppointments(at time: Instant, most: Int) throws(StoreError) -> [DueAppointment] {
    try check()
    return memory.dueAppointments(at: time, most: most)
  }

  func scheduledAppointment(_ id: CallbackID) throws(StoreError) -> DueAppointment? {
    try check()
    return memory.scheduledAppointment(id)
  }

  func appointments(
    of callerID: String, subject: String, most: Int
  ) throws(StoreError) -> [StoredCallback] {
    try check()
    return memory.appointments(of: callerID, subject: subject, most: most)
  }

  func takenPlaces(in slots: ClosedRange<Int64>) throws(StoreError) -> [Int64: Int] {
    try check()
    return memory.takenPlaces(in: slots)
  }

  func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    try check()
    return memory.callbacks(ids)
  }

  func appointmentCounts(dueBefore time: Instant) throws(StoreError) -> AppointmentCounts {
    try check()
    return memory.appointmentCounts(dueBefore: time)
  }
}
