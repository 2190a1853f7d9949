// The SQL statements for devices and claims in PostgreSQL.

import Store

extension PostgresStatements {
  // MARK: Devices

  /// Locks an installation that is not revoked. The lock waits for a transaction that revokes it. A later one
  /// waits for this lock, and then finds the device.
  static let lockOwnInstallation = PostgresStatement(
    name: "callgate_lock_own_installation",
    sql: """
      SELECT \(installationColumns) FROM callgate_installation
      WHERE id = $1::uuid AND generation = $2::bigint AND revoked IS NULL FOR SHARE
      """)
  /// Records that an installation uses the name of its device, if the device still has that name and the
  /// installation was neither revoked nor replaced. The device is locked before the name, as in each
  /// transaction: a transaction that removes the device at this moment also frees the name.
  static let useName = PostgresStatement(
    name: "callgate_use_name",
    sql: """
      INSERT INTO callgate_hook_name AS kept (name, holder, holder_generation, last)
      SELECT $1::bytea, id, generation, $2::bigint FROM callgate_installation
      JOIN callgate_device AS used ON used.installation = id
      WHERE id = $3::uuid AND generation = $4::bigint AND revoked IS NULL AND used.name = $1::bytea
      FOR SHARE OF used
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, holder_generation = excluded.holder_generation,
        last = greatest(kept.last, excluded.last)
      """)
  static let lockSameDevice = PostgresStatement(
    name: "callgate_lock_same_device",
    sql: """
      SELECT FROM callgate_device WHERE installation = $1::uuid AND name = $2::bytea AND registered = $3::bigint
      FOR UPDATE
      """)
  // MARK: Claims

  /// Locks a live claim. Each further parameter that is not NULL adds a condition: the claim belongs to the
  /// installation (`$2`), expires after the time (`$3`), and has the generation (`$4`) or none.
  static let lockClaim = PostgresStatement(
    name: "callgate_lock_claim",
    sql: """
      SELECT FROM callgate_claim WHERE id = $1::bytea AND state = 'live'
        AND ($2::uuid IS NULL OR installation = $2::uuid) AND ($3::bigint IS NULL OR expires > $3::bigint)
        AND ($4::bigint IS NULL OR coalesce(generation, $4::bigint) = $4::bigint)
      FOR UPDATE
      """)
  /// SKIP LOCKED: other sessions lock a claim only to end it, so a locked claim is skipped.
  static let lockOldClaims = NoticeStatements.claims(
    "lock_old_claims",
    "installation = $1 AND state = 'live' ORDER BY created DESC OFFSET $2 FOR UPDATE SKIP LOCKED")
  static let lockOverdueClaims = NoticeStatements.claims(
    "lock_overdue_claims", "state = 'live' AND expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED"
  )
  static let endClaims = PostgresStatement(
    name: "callgate_end_claims",
    sql: "UPDATE callgate_claim SET state = $2, receipts = '' WHERE id = ANY ($1::bytea[]) AND state = 'live'"
  )
}
