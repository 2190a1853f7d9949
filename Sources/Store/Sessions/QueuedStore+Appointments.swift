// The store's operations on appointments, run in database sessions.

package import Gate

extension QueuedStore {
  package func book(_ booking: Booking, at now: Instant) async throws(StoreError) -> BookingResult {
    try health.checkClock()
    let result = try await sessions.commit { onResult in .callback(.book(booking, at: now, onResult)) }
    if result == .booked { await remember(booking.intent, at: now) }
    return result
  }

  package func move(_ booking: Booking, at now: Instant) async throws(StoreError) -> MoveResult {
    try health.checkClock()
    return try await sessions.commit { onResult in .callback(.move(booking, at: now, onResult)) }
  }

  package func rewrite(_ id: CallbackID, from old: [UInt8], to new: [UInt8]) async throws(StoreError) -> Bool
  {
    try await sessions.commit { onResult in .callback(.rewrite(id, from: old, to: new, onResult)) }
  }

  package func callbacks(_ query: AliasQuery) async throws(StoreError) -> [StoredCallback] {
    try await sessions.call(.reads) { session throws(StoreError) in try session.callbacks(query) }
  }

  package func end(
    _ id: CallbackID, _ ending: AppointmentEnding, returning receipts: [AllowanceReceipt], at now: Instant
  ) async throws(StoreError) -> EndResult {
    try await sessions.commit { onResult in .callback(.end(id, ending, receipts, at: now, onResult)) }
  }

  package func certainRecord(_ id: CallbackID) async throws(StoreError) -> StoredCallback? {
    try await settleDoubts()
    return try await callbacks([id]).first
  }

  package func mark(_ id: CallbackID, for due: Instant, deadline: Instant, _ handover: CallHandover?)
    async throws(StoreError) -> Bool
  {
    try await sessions.commit { onResult in
      .callback(.mark(id, for: due, deadline: deadline, handover, onResult))
    }
  }

  /// If a mark in doubt may still be committed, its transaction has locked the record. Then this function
  /// waits for the lock, or fails.
  @discardableResult
  package func postpone(_ id: CallbackID, until due: Instant, code: String?) async throws(StoreError) -> Bool
  {
    try await sessions.commit { onResult in .callback(.postpone(id, until: due, code: code, onResult)) }
  }

  package func dueAppointments(at time: Instant, most: Int) async throws(StoreError) -> [DueAppointment] {
    try await rows(CallbackStatements.due, .time(time), .integer(Int64(most))).compactMap(\.dueAppointment)
  }

  package func scheduledAppointment(_ id: CallbackID) async throws(StoreError) -> DueAppointment? {
    try await rows(CallbackStatements.record, .id(id.id)).first?.dueAppointment
  }

  package func appointments(
    of callerID: String, subject: String, most: Int
  ) async throws(StoreError) -> [StoredCallback] {
    try await rows(
      CallbackStatements.appointments, .text(callerID), .text(subject), .integer(Int64(most))
    ).map(\.record)
  }

  package func appointmentsWithoutOrigin(most: Int) async throws(StoreError) -> [DueAppointment] {
    try await rows(CallbackStatements.withoutOrigin, .integer(Int64(most))).compactMap(\.dueAppointment)
  }

  package func note(_ origin: CallbackOrigin, of id: CallbackID) async throws(StoreError) {
    let _: Bool = try await sessions.commit { onResult in .callback(.note(origin, of: id, onResult)) }
  }

  package func takenPlaces(in slots: ClosedRange<Int64>) async throws(StoreError) -> [Int64: Int] {
    let found = try await rows(
      CallbackStatements.takenPlaces, .integer(slots.lowerBound), .integer(slots.upperBound))
    return Dictionary(found.map { ($0.slot, $0.taken) }, uniquingKeysWith: +)
  }

  package func callbacks(_ ids: Set<CallbackID>) async throws(StoreError) -> [StoredCallback] {
    guard !ids.isEmpty else { return [] }
    return try await sessions.call(.reads) { session throws(StoreError) in try session.callbacks(ids) }
  }

  package func appointmentCounts(dueBefore time: Instant) async throws(StoreError) -> AppointmentCounts {
    var counts = AppointmentCounts(pending: try await rows(CallbackStatements.pendingAppointments).first ?? 0)
    var last: Int64? = .min
    while let after = last {
      guard
        let found = try await rows(CallbackStatements.scheduledAppointments, .time(time), .integer(after))
          .first
      else { break }
      counts.scheduled += found.count
      counts.overdue += found.overdue
      last = found.count < RowCounts.portion ? nil : found.last
    }
    return counts
  }
}
