// The appointments of a store for tests: those of the memory behind it.

package import Gate
package import Store

extension ScriptedStore {
  package func book(_ booking: Booking, at now: Instant) throws(StoreError) -> BookingResult {
    try check()
    return memory.book(booking, at: now)
  }

  package func move(_ booking: Booking, at now: Instant) throws(StoreError) -> MoveResult {
    try check()
    return memory.move(booking, at: now)
  }

  package func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) throws(StoreError) -> Bool {
    try check()
    return memory.rewrite(id, from: old, to: new)
  }

  package func callbacks(_ query: AliasQuery) throws(StoreError) -> [StoredCallback] {
    try check()
    return memory.callbacks(query)
  }

  package func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) throws(StoreError)
    -> EndResult
  {
    try check()
    return memory.end(id, ending, at: now)
  }

  package func certainRecord(_ id: CallbackID) throws(StoreError) -> StoredCallback? {
    try check()
    return memory.certainRecord(id)
  }

  package func mark(_ id: CallbackID, for due: Instant, deadline: Instant) throws(StoreError) -> Bool {
    try check()
    return memory.mark(id, for: due, deadline: deadline)
  }

  package func postpone(_ id: CallbackID, until due: Instant, code: String?) throws(StoreError) -> Bool {
    try check()
    return memory.postpone(id, until: due, code: code)
  }

  package func dueAppointments(at time: Instant, most: Int) throws(StoreError) -> [DueAppointment] {
    try check()
    return memory.dueAppointments(at: time, most: most)
  }

  package func scheduledAppointment(_ id: CallbackID) throws(StoreError) -> DueAppointment? {
    try check()
    return memory.scheduledAppointment(id)
  }

  package func appointments(
    of callerID: String, subject: String, most: Int
  ) throws(StoreError) -> [StoredCallback] {
    try check()
    return memory.appointments(of: callerID, subject: subject, most: most)
  }

  package func appointmentsWithoutOrigin(most: Int) throws(StoreError) -> [DueAppointment] {
    try check()
    return memory.appointmentsWithoutOrigin(most: most)
  }

  package func note(_ origin: CallbackOrigin, of id: CallbackID) throws(StoreError) {
    try check()
    memory.note(origin, of: id)
  }

  package func takenPlaces(in slots: ClosedRange<Int64>) throws(StoreError) -> [Int64: Int] {
    try check()
    return memory.takenPlaces(in: slots)
  }

  package func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    try check()
    return memory.callbacks(ids)
  }

  package func appointmentCounts(dueBefore time: Instant) throws(StoreError) -> AppointmentCounts {
    try check()
    return memory.appointmentCounts(dueBefore: time)
  }
}
