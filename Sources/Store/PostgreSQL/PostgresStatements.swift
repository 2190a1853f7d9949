// The SQL statements that a PostgreSQL store prepares.

/// Statements by what they are for.
enum PostgresStatements {
  /// Locks rows in the order of their ids, which is everyone's, so nobody waits in a circle; rows that are not
  /// there are made, or two transactions could both find nothing and both take everything.
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
  /// Passes over what others hold, so it never waits for them while it holds something itself.
  static let purge = PostgresStatement(
    name: "callgate_purge",
    sql: """
      DELETE FROM callgate_allowance WHERE id IN (
        SELECT id FROM callgate_allowance WHERE expires <= $1::bigint LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
      """)
  static let stops = PostgresStatement(
    name: "callgate_stops", sql: "SELECT scope, id, action, since, ends, reason FROM callgate_stop")
  /// What is over is no stop any more; of two that hold, the later end counts.
  static let stop = PostgresStatement(
    name: "callgate_stop",
    sql: """
      INSERT INTO callgate_stop AS kept (scope, id, action, since, ends, reason)
      VALUES ($1, $2, $3, $4::bigint, $5::bigint, $6)
      ON CONFLICT (scope, id, action) DO UPDATE SET
        since = CASE WHEN kept.ends <= excluded.since THEN excluded.since ELSE kept.since END,
        ends = CASE WHEN kept.ends <= excluded.since THEN excluded.ends
          WHEN kept.ends IS NULL OR excluded.ends IS NULL THEN NULL ELSE greatest(kept.ends, excluded.ends) END,
        reason = CASE WHEN kept.ends <= excluded.since THEN excluded.reason
          ELSE coalesce(excluded.reason, kept.reason) END
      """)
  static let resume = PostgresStatement(
    name: "callgate_resume", sql: "DELETE FROM callgate_stop WHERE scope = $1 AND id = $2 AND action = $3")
  static let purgeStops = PostgresStatement(
    name: "callgate_purge_stops", sql: "DELETE FROM callgate_stop WHERE ends <= $1::bigint")
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
