// How a PostgreSQL session reads appointments.

import Gate
import Store

extension PostgresSession {
  func dueAppointments(at time: Instant, most: Int) throws(StoreError) -> [DueAppointment] {
    try records(PostgresStatements.due, ["\(time.nanosecondsSinceEpoch)", "\(most)"]).compactMap(
      \.dueAppointment)
  }

  func scheduledAppointment(_ id: CallbackID) throws(StoreError) -> DueAppointment? {
    try records(PostgresStatements.callback, [id.id.hex]).first?.dueAppointment
  }

  func appointments(of callerID: String, subject: String, most: Int) throws(StoreError) -> [StoredCallback] {
    try records(PostgresStatements.appointments, [callerID, subject, "\(most)"]).map(\.record)
  }

  func takenPlaces(in slots: ClosedRange<Int64>) throws(StoreError) -> [Int64: Int] {
    PostgresCallbacks.taken(
      try rows(.prepared(PostgresStatements.takenPlaces, ["\(slots.lowerBound)", "\(slots.upperBound)"])))
  }

  func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    try records(PostgresStatements.callbacks, [PostgresText.array(ids.map(\.id.hex))]).map(\.record)
  }

  func appointmentCounts(dueBefore time: Instant) throws(StoreError) -> AppointmentCounts {
    let parameters = ["\(time.nanosecondsSinceEpoch)"]
    let counts = try rows(.prepared(PostgresStatements.appointmentCounts, parameters)).first?.map { text in
      text.flatMap { Int($0) } ?? 0
    }
    guard let counts else { return AppointmentCounts() }
    return AppointmentCounts(scheduled: counts[0], pending: counts[1], overdue: counts[2])
  }

  private func records(
    _ statement: PostgresStatement, _ parameters: [String?]
  ) throws(StoreError) -> [CallbackBook.Row] {
    try rows(.prepared(statement, parameters)).compactMap { PostgresCallbacks.row($0) }
  }
}
