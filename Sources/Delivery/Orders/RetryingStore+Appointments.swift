// The operations on appointments without retries.

package import Gate
package import Store

extension RetryingStore {
  package func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult {
    try checkClock()
    return try await store.move(booking, at: now)
  }

  package func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool
  {
    try checkClock()
    return try await store.rewrite(id, from: old, to: new)
  }

  package func callbacks(_ query: AliasQuery) async throws(StoreError) -> [StoredCallback] {
    try await store.callbacks(query)
  }

  package func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) async throws(StoreError)
    -> EndResult
  {
    if !ending.isOwners { try checkClock() }
    return try await store.end(id, ending, at: now)
  }

  @discardableResult
  package func postpone(_ id: CallbackID, until due: Instant, code: String?) async throws(StoreError) -> Bool
  {
    try await store.postpone(id, until: due, code: code)
  }

  package func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback? {
    try await store.certainRecord(id)
  }

  package func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment] {
    try await store.dueAppointments(at: time, most: most)
  }

  package func scheduledAppointment(_ id: CallbackID) async throws(StoreError) -> DueAppointment? {
    try await store.scheduledAppointment(id)
  }

  package func appointments(of callerID: String, subject: String, most: Int) async throws(StoreError)
    -> [StoredCallback]
  {
    try await store.appointments(of: callerID, subject: subject, most: most)
  }

  package func appointmentsWithoutOrigin(most: Int) async throws(StoreError) -> [DueAppointment] {
    try await store.appointmentsWithoutOrigin(most: most)
  }

  package func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError) {
    try await store.note(origin, of: id)
  }

  package func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int] {
    try await store.takenPlaces(in: slots)
  }

  package func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback] {
    try await store.callbacks(ids)
  }

  package func appointmentCounts(dueBefore time: Instant) async throws(StoreError) -> AppointmentCounts {
    try await store.appointmentCounts(dueBefore: time)
  }
}

extension AppointmentEnding {
  /// The status that it leads to.
  var status: StoredCallback.Status {
    switch self {
    case .cancelled, .declined, .unanswered, .revoked: .cancelled
    case .expired: .expired
    case .failed: .failed
    }
  }
}
