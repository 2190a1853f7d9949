// The SQL statements for notices of callbacks in PostgreSQL.

extension PostgresStatements {
  /// The due notices of callbacks; the condition is the one of an index.
  private static func due(_ condition: String) -> String {
    """
    SELECT \(columns("callback")), device.token, device.registered
    FROM callgate_callback AS callback JOIN callgate_device AS device ON device.installation = callback.notifies
    WHERE callback.notice_next IS NOT NULL AND \(condition)
      AND callback.notice_next BETWEEN $1::bigint AND $2::bigint
      AND device.platform = $3 AND callback.status <> 'pending'
    ORDER BY callback.notice_next LIMIT $4::bigint
    """
  }

  static let dueQuestions = PostgresStatement(
    name: "callgate_due_questions", sql: due("callback.settled IS NULL"))
  static let dueNews = PostgresStatement(name: "callgate_due_news", sql: due("callback.settled IS NOT NULL"))
  /// Two instances with other clocks may take the same notice one after the other: the first row stays.
  static let putNotices = PostgresStatement(
    name: "callgate_put_notices",
    sql: """
      INSERT INTO callgate_notice (id, callback, installation, action, serial, created)
      SELECT id, callback, installation, action, serial, created
      FROM unnest($1::bytea[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[])
        AS new (id, callback, installation, action, serial, created)
      ON CONFLICT (id) DO NOTHING
      """)
  /// With its callback, in one statement.
  static let notice = PostgresStatement(
    name: "callgate_notice",
    sql: """
      SELECT notice.callback, notice.installation, notice.action, notice.serial, notice.created,
        \(columns("callback"))
      FROM callgate_notice AS notice LEFT JOIN callgate_callback AS callback ON callback.id = notice.callback
      WHERE notice.id = $1::bytea
      """)
  static let purgeNotices = PostgresStatement(
    name: "callgate_purge_notices",
    sql: """
      DELETE FROM callgate_notice WHERE id IN (
        SELECT id FROM callgate_notice WHERE created <= $1::bigint LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
      """)
}
