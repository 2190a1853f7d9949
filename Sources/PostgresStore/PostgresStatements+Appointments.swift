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
  static let aliasNumbers = PostgresStatement(
    name: "callgate_alias_numbers",
    sql: """
      SELECT \(columns()) FROM callgate_callback WHERE alias_number IS NOT NULL AND alias_number = ANY($1::bytea[])
      ORDER BY id DESC LIMIT $2::bigint
      """)
  static let callbacks = PostgresStatement(
    name: "callgate_callbacks_read",
    sql: "SELECT \(columns()) FROM callgate_callback WHERE id = ANY($1::uuid[])")
}
