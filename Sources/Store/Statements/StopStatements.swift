// The SQL statements on stops and allowances that SQLite and PostgreSQL share.

import Gate

package enum StopStatements {
  static let stops = Query<StopSet.Row>(
    "stops", "SELECT scope, id, action, since, ends, reason, operator, operator_by FROM callgate_stop",
    [.text, .text, .text, .integer, .integer, .text, .text, .text]
  ) { row throws(UnreadableValue) in
    StopSet.Row(
      scope: try row.text(0), id: try row.text(1), action: try row.text(2), since: try row.integer(3),
      until: try row.optionalInteger(4), reason: try row.optionalText(5),
      by: Operator.Identity(name: try row.optionalText(6), by: try row.optionalText(7)))
  }

  /// Saves a stop. It replaces one that has ended. Of two current stops, the later end is saved.
  static let stop = Change(
    "stop",
    """
    INSERT INTO callgate_stop AS kept (scope, id, action, since, ends, reason, operator, operator_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (scope, id, action) DO UPDATE SET
      since = CASE WHEN kept.ends <= excluded.since THEN excluded.since ELSE kept.since END,
      ends = CASE WHEN kept.ends <= excluded.since THEN excluded.ends
        WHEN kept.ends IS NULL OR excluded.ends IS NULL THEN NULL
        WHEN kept.ends > excluded.ends THEN kept.ends ELSE excluded.ends END,
      reason = CASE WHEN kept.ends <= excluded.since THEN excluded.reason
        ELSE coalesce(excluded.reason, kept.reason) END,
      operator = CASE WHEN kept.ends <= excluded.since THEN excluded.operator
        ELSE coalesce(excluded.operator, kept.operator) END,
      operator_by = CASE WHEN kept.ends <= excluded.since THEN excluded.operator_by
        ELSE coalesce(excluded.operator_by, kept.operator_by) END
    """)
  static let resume = Change(
    "resume", "DELETE FROM callgate_stop WHERE scope = $1 AND id = $2 AND action = $3")
  static let purge = Change("purge_stops", "DELETE FROM callgate_stop WHERE ends <= $1")

  static let purgeAllowances = Change(
    purging: "allowances", "callgate_allowance", where: "kept.expires <= $1")
}
