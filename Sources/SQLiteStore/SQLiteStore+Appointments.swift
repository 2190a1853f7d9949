// The appointment operations of the SQLite store.

public import Gate
public import Store

extension SQLiteStore {
  public func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult {
    try await sessions.book(booking, at: now)
  }

  public func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult {
    try await sessions.move(booking, at: now)
  }

  public func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool {
    try await sessions.rewrite(id, from: old, to: new)
  }

  public func callbacks(_ query: AliasQuery) async throws(StoreError) -> [StoredCallback] {
    try await sessions.call(.reads) { session throws(StoreError) in try session.callbacks(query) }
  }

  public func end(
    _ id: CallbackID, _ ending: AppointmentEnding, at now: Instant
  ) async throws(StoreError) -> EndResult {
    try await sessions.end(id, ending, at: now)
  }

  /// One queue runs everything, so nothing is under way.
  public func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback? {
    try await callbacks([id]).first
  }

  public func mark(_ id: CallbackID, for due: Instant, deadline: Instant) async throws(StoreError) -> Bool {
    try await sessions.mark(id, for: due, deadline: deadline)
  }

  @discardableResult
  public func postpone(_ id: CallbackID, until due: Instant, code: String?) async throws(StoreError) -> Bool {
    try await sessions.postpone(id, until: due, code: code)
  }

  public func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment] {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.dueAppointments(at: time, most: most)
    }
  }

  public func scheduledAppointment(_ id: CallbackID) async throws(StoreError) -> DueAppointment? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.scheduledAppointment(id) }
  }

  public func appointments(
    of callerID: String, subject: String, most: Int
  ) async throws(StoreError) -> [StoredCallback] {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.appointments(of: callerID, subject: subject, most: most)
    }
  }

  public func appointmentsWithoutOrigin(most: Int) async throws(StoreError) -> [DueAppointment] {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.appointmentsWithoutOrigin(most: most)
    }
  }

  public func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError) {
    try await sessions.note(origin, of: id)
  }

  public func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int] {
    try await sessions.call(.reads) { session throws(StoreError) in try session.takenPlaces(in: slots) }
  }

  public func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback] {
    guard !ids.isEmpty else { return [] }
    return try await sessions.call(.reads) { session throws(StoreError) in try session.callbacks(ids) }
  }

  public func appointmentCounts(dueBefore time: Instant) async throws(StoreError) -> AppointmentCounts {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.appointmentCounts(dueBefore: time)
    }
  }
}
