// The SQL statements for appointments in PostgreSQL.

extension PostgresStatements {
  static let takenOfSlots = PostgresStatement(
    name: "callgate_taken_of_slots",
    sql: """
      SELECT slot, count(*) FROM callgate_callback WHERE slot IS NOT NULL AND slot = ANY($1::bigint[]) GROUP BY slot
      """)
  static let ofNumbers = PostgresStatement(
    name: "callgate_of_numbers",
    sql: """
      SELECT number, id FROM callgate_callback
      WHERE number IS NOT NULL AND settled IS NULL AND number = ANY($1::uuid[])
      """)
  static let due = PostgresStatement(
    name: "callgate_due",
    sql: """
      SELECT \(columns()) FROM callgate_callback WHERE due IS NOT NULL AND due <= $1::bigint
      ORDER BY due LIMIT $2::bigint
      """)
  static let withoutOrigin = PostgresStatement(
    name: "callgate_without_origin",
    sql: """
      SELECT \(columns()) FROM callgate_callback WHERE due IS NOT NULL AND generation IS NULL LIMIT $1::bigint
      """)
  static let appointments = PostgresStatement(
    name: "callgate_appointments",
    sql: """
      SELECT \(columns()) FROM callgate_callback
      WHERE status = 'scheduled' AND caller = $1 AND coalesce(subject, caller) = $2 ORDER BY at, id LIMIT $3::bigint
      """)
  static let alias = PostgresStatement(
    name: "callgate_alias",
    sql: "SELECT \(columns()) FROM callgate_callback WHERE alias IS NOT NULL AND alias = $1::bytea")
  static let aliasNumbers = PostgresStatement(
    name: "callgate_alias_numbers",
    sql: """
      SELECT \(columns()) FROM callgate_callback WHERE alias_number IS NOT NULL AND alias_number = ANY($1::bytea[])
      ORDER BY id DESC LIMIT $2::bigint
      """)
  static let takenPlaces = PostgresStatement(
    name: "callgate_taken_places",
    sql: """
      SELECT slot, count(*) FROM callgate_callback
      WHERE slot IS NOT NULL AND slot BETWEEN $1::bigint AND $2::bigint GROUP BY slot
      """)
  static let callbacks = PostgresStatement(
    name: "callgate_callbacks_read",
    sql: "SELECT \(columns()) FROM callgate_callback WHERE id = ANY($1::uuid[])")
  static let appointmentCounts = PostgresStatement(
    name: "callgate_appointment_counts",
    sql: """
      SELECT (SELECT count(*) FROM callgate_callback WHERE due IS NOT NULL),
        (SELECT count(*) FROM callgate_callback WHERE status = 'pending' AND at IS NOT NULL),
        (SELECT count(*) FROM callgate_callback WHERE due IS NOT NULL AND due < $1::bigint)
      """)
}
