// The SQL statements that a PostgreSQL store prepares.

enum PostgresStatements {
  /// Locks the rows of allowances in the order of their ids, as every transaction does, so transactions never
  /// wait in a circle. Inserts missing rows. Otherwise two transactions could both find nothing and both use
  /// the whole allowance.
  static let lock = PostgresStatement(
    name: "callgate_lock",
    sql: """
      INSERT INTO callgate_allowance AS kept (id, expires)
      SELECT unnest($1::uuid[]), 0 ORDER BY 1
      ON CONFLICT (id) DO UPDATE SET mark = kept.mark
      RETURNING id, mark, used
      """)
  static let put = PostgresStatement(
    name: "callgate_put",
    sql: """
      UPDATE callgate_allowance AS kept SET mark = new.mark, used = new.used, expires = new.expires
      FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) AS new (id, mark, used, expires)
      WHERE kept.id = new.id
      """)
  static let read = PostgresStatement(
    name: "callgate_read",
    sql: "SELECT id, mark, used FROM callgate_allowance WHERE id = ANY($1::uuid[])")
  /// Microseconds since the epoch by the server's clock.
  static let time = PostgresStatement(
    name: "callgate_time", sql: "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
  static let meta = PostgresStatement(
    name: "callgate_meta",
    sql: """
      SELECT (SELECT max(version) FROM callgate_schema),
        (SELECT value FROM callgate_meta WHERE name = 'hash_key')
      """)
}
