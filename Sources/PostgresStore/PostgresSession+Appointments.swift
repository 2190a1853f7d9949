// How a PostgreSQL session reads appointments.

package import Gate
import JOSE
package import Store

extension PostgresSession {
  package func dueAppointments(at time: Instant, most: Int) throws(StoreError) -> [DueAppointment] {
    try records(PostgresStatements.due, ["\(time.nanosecondsSinceEpoch)", "\(most)"]).compactMap(
      \.dueAppointment)
  }

  package func appointmentsWithoutOrigin(most: Int) throws(StoreError) -> [DueAppointment] {
    try records(PostgresStatements.withoutOrigin, ["\(most)"]).compactMap(\.dueAppointment)
  }

  package func scheduledAppointment(_ id: CallbackID) throws(StoreError) -> DueAppointment? {
    try records(PostgresStatements.callback, [id.id.hex]).first?.dueAppointment
  }

  package func appointments(of callerID: String, subject: String, most: Int) throws(StoreError)
    -> [StoredCallback]
  {
    try records(PostgresStatements.appointments, [callerID, subject, "\(most)"]).map(\.record)
  }

  package func callbacks(_ query: AliasQuery) throws(StoreError) -> [StoredCallback] {
    switch query {
    case .name(let name):
      try records(PostgresStatements.alias, [PostgresText.bytea(name.bytes)]).map(\.record)
    case .numbers(let numbers):
      try records(
        PostgresStatements.aliasNumbers,
        [PostgresText.array(quoting: numbers.map { PostgresText.bytea($0.bytes) }), "\(AliasQuery.most)"]
      ).map(\.record)
    }
  }

  package func takenPlaces(in slots: ClosedRange<Int64>) throws(StoreError) -> [Int64: Int] {
    let command = PostgresCommand.prepared(
      PostgresStatements.takenPlaces, ["\(slots.lowerBound)", "\(slots.upperBound)"])
    return try read(command) { rows throws(PostgresFailure) in try PostgresCallbacks.taken(rows) }
  }

  package func callbacks(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    try records(PostgresStatements.callbacks, [PostgresText.array(ids.map(\.id.hex))]).map(\.record)
  }

  package func appointmentCounts(dueBefore time: Instant) throws(StoreError) -> AppointmentCounts {
    let parameters = ["\(time.nanosecondsSinceEpoch)"]
    let command = PostgresCommand.prepared(PostgresStatements.appointmentCounts, parameters)
    return try read(command) { rows throws(PostgresFailure) in
      guard let row = rows.first else { return AppointmentCounts() }
      return AppointmentCounts(
        scheduled: Int(try row.integer(0)), pending: Int(try row.integer(1)), overdue: Int(try row.integer(2))
      )
    }
  }

  private func records(
    _ statement: PostgresStatement, _ parameters: [String?]
  ) throws(StoreError) -> [CallbackBook.Row] {
    try read(.prepared(statement, parameters)) { rows throws(PostgresFailure) in
      try rows.map(PostgresCallbacks.row)
    }
  }
}
