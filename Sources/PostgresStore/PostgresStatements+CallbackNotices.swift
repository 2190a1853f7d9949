// The SQL statements for notices of callbacks in PostgreSQL.

import Store

extension PostgresStatements {
  /// The due notices of callbacks; the condition is the one of an index.
  private static func due(_ condition: String) -> String {
    """
    SELECT \(columns("callback")), device.token, device.registered, kept.generation
    FROM callgate_callback AS callback JOIN callgate_device AS device ON device.installation = callback.notifies
    JOIN callgate_installation AS kept ON kept.id = device.installation AND kept.revoked IS NULL
      AND CASE WHEN callback.notifies_generation IS NULL THEN kept.generation <= callback.created
        ELSE kept.generation = callback.notifies_generation END
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
    name: "callgate_put_notices", sql: NoticeColumn.table.upsert)
  /// With its callback, in one statement.
  static let notice = PostgresStatement(
    name: "callgate_notice",
    sql: """
      SELECT \(NoticeColumn.table.list(of: "notice")), \(columns("callback"))
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
