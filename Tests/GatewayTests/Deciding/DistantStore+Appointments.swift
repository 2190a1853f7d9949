// The appointments of a store for tests: those of the memory behind it.

import Gate
import Store

extension DistantStore {
  func book(_ booking: Booking, at now: Instant) throws(StoreError) -> BookingResult {
    try reach()
    return memory.book(booking, at: now)
  }

  func move(_ booking: Booking, at now: Instant) throws(StoreError) -> MoveResult {
    try reach()
    return memory.move(booking, at: now)
  }

  func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) throws(StoreError) -> EndResult {
    try reach()
    return memory.end(id, ending, at: now)
  }

  func mark(_ id: CallbackID, for due: Instant, deadline: Instant) throws(StoreError) -> Bool {
    try reach()
    return memory.mark(id, for: due, deadline: deadline)
  }

  func postpone(_ id: CallbackID, until due: Instant, code: String?) throws(StoreError) -> Bool {
    try reach()
    return memory.postpone(id, until: due, code: code)
  }

  func dueAppointments(at time: Instant, most: Int) throws(StoreError) -> [DueAppointment] {
    try reach()
    return memory.dueAppointments(at: time, most: most)
  }

  func scheduledAppointment(_ id: CallbackID) throws(StoreError) -> DueAppointment? {
    try reach()
    return memory.scheduledAppointment(id)
  }

  func appointments(
    of callerID: String, subject: String, most: Int
  ) throws(StoreError) -> [StoredCallback] {
    try reach()
    return memory.appointments(of: callerID, subject: subject, most: most)
  }

  func takenPlaces(in slots: ClosedRange<Int64>) throws(StoreError) -> [Int64: Int] {
    try reach()
    return memory.takenPlaces(in: slots)
  }

  func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    try reach()
    return memory.callbacks(ids)
  }

  func appointmentCounts(dueBefore time: Instant) throws(StoreError) -> AppointmentCounts {
    try reach()
    return memory.appointmentCounts(dueBefore: time)
  }
}
