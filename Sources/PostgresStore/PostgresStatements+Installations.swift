// The SQL statements for installations in PostgreSQL.

import Store

extension PostgresStatements {
  static let installationColumns = InstallationColumn.table.list

  static let lockName = PostgresStatement(
    name: "callgate_lock_name", sql: "SELECT pg_advisory_xact_lock($1::integer, $2::integer)")

  // MARK: Installations

  static let touchInstallations = PostgresStatement(
    name: "callgate_touch_installations",
    sql: """
      UPDATE callgate_installation AS kept SET used = new.used
      FROM unnest($1::uuid[], $2::bigint[]) AS new (id, used) WHERE kept.id = new.id AND kept.used < new.used
      """)

  /// Deletes installations, but keeps the ids that were once used without a user: a new installation with
  /// such an id must not own the records of the old one.
  static let purgeInstallations = PostgresStatement(
    name: "callgate_purge_installations",
    sql: """
      WITH forgotten AS (
        DELETE FROM callgate_installation WHERE id IN (
          SELECT id FROM callgate_installation WHERE app = $1 AND used < $2::bigint
          LIMIT $3::bigint FOR UPDATE SKIP LOCKED)
        RETURNING id, coalesce(operator_deliveries, 1) AS deliveries
      ), spent AS (
        INSERT INTO callgate_spent_id (id) SELECT id FROM forgotten WHERE deliveries > 0 ON CONFLICT DO NOTHING
      )
      SELECT id FROM forgotten
      """)
}
