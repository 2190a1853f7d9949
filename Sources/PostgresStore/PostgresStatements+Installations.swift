// The SQL statements for installations in PostgreSQL.

import Store

extension PostgresStatements {
  static let installationColumns = InstallationColumn.table.list
  private static let enrolmentColumns = EnrolmentColumn.table.list

  static let lockName = PostgresStatement(
    name: "callgate_lock_name", sql: "SELECT pg_advisory_xact_lock($1::integer, $2::integer)")

  // MARK: Installations

  static let installationsOfUser = PostgresStatement(
    name: "callgate_installations_of_user",
    sql: """
      SELECT count(*) FROM callgate_installation
      WHERE subject = $1 AND caller = $2 AND app = $3 AND used >= $4::bigint AND revoked IS NULL AND id <> $5::uuid
      """)
  static let putInstallation = PostgresStatement(
    name: "callgate_put_installation", sql: InstallationColumn.table.upsert)
  static let touchInstallations = PostgresStatement(
    name: "callgate_touch_installations",
    sql: """
      UPDATE callgate_installation AS kept SET used = new.used
      FROM unnest($1::uuid[], $2::bigint[]) AS new (id, used) WHERE kept.id = new.id AND kept.used < new.used
      """)

  /// Forgets the oldest revoked installations of a user, but those whose id an operator has approved.
  static let forgetRevoked = PostgresStatement(
    name: "callgate_forget_revoked",
    sql: """
      DELETE FROM callgate_installation WHERE id IN (
        SELECT id FROM callgate_installation
        WHERE subject = $1 AND caller = $2 AND revoked IS NOT NULL AND operator_deliveries = 0
        ORDER BY revoked DESC, id DESC OFFSET $3::bigint FOR UPDATE SKIP LOCKED)
      """)
  /// Forgets installations, and keeps the ids that an operator has approved: their names are spent.
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
  static let spentID = PostgresStatement(
    name: "callgate_spent_id", sql: "SELECT FROM callgate_spent_id WHERE id = $1::uuid")

  /// Finds another living installation that has a key of App Attest.
  static let attestedKey = PostgresStatement(
    name: "callgate_attested_key",
    sql: """
      SELECT FROM callgate_installation WHERE attested_key = $1::bytea AND revoked IS NULL AND id <> $2::uuid LIMIT 1
      """)

  // MARK: Requests

  static let enrolment = PostgresStatement(
    name: "callgate_enrolment", sql: "SELECT \(enrolmentColumns) FROM callgate_enrolment WHERE id = $1::bytea"
  )
  static let enrolmentOfCode = PostgresStatement(
    name: "callgate_enrolment_of_code",
    sql: """
      SELECT \(enrolmentColumns) FROM callgate_enrolment
      WHERE code = $1 AND state IN ('pending', 'approved', 'denied') AND expires > $2::bigint
      """)
  static let liveEnrolments = PostgresStatement(
    name: "callgate_live_enrolments",
    sql: """
      SELECT count(*) FROM callgate_enrolment
      WHERE installation = $1::uuid AND state IN ('pending', 'approved') AND expires > $2::bigint
      """)
  static let pendingEnrolments = PostgresStatement(
    name: "callgate_pending_enrolments",
    sql: "SELECT count(*) FROM callgate_enrolment WHERE state = 'pending' AND expires > $1::bigint")
  static let putEnrolment = PostgresStatement(
    name: "callgate_put_enrolment", sql: EnrolmentColumn.table.upsert)
  static let endEnrolments = PostgresStatement(
    name: "callgate_end_enrolments",
    sql: """
      UPDATE callgate_enrolment SET state = 'ended' WHERE installation = $1::uuid AND state IN ('pending', 'approved')
      """)
  static let purgeEnrolments = PostgresStatement(
    name: "callgate_purge_enrolments",
    sql: """
      DELETE FROM callgate_enrolment WHERE id IN (
        SELECT id FROM callgate_enrolment WHERE forgotten <= $1::bigint LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
      """)
}
