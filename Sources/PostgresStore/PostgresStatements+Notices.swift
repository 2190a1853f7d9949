// The SQL statements for devices and claims in PostgreSQL.

import Store

extension PostgresStatements {
  // MARK: Devices

  /// The lock waits for a transaction that revokes the installation, and keeps one from beginning: that one then finds the device.
  static let lockOwnInstallation = PostgresStatement(
    name: "callgate_lock_own_installation",
    sql: """
      SELECT \(installationColumns) FROM callgate_installation
      WHERE id = $1::uuid AND generation = $2::bigint AND revoked IS NULL FOR SHARE
      """)
  /// The installations of other ids that use the name of a hook since a time: by that name's row, and by their device, which a
  /// release without these rows may have registered.
  static let usersOfName = PostgresStatement(
    name: "callgate_users_of_name",
    sql: """
      SELECT \(installationColumns) FROM callgate_hook_name
      JOIN callgate_installation ON id = holder AND generation = holder_generation
      WHERE name = $1::bytea AND last > $2::bigint AND id <> $3::uuid AND revoked IS NULL
      UNION ALL
      SELECT \(installationColumns) FROM callgate_device JOIN callgate_installation ON id = installation
      WHERE name = $1::bytea AND registered > $2::bigint AND id <> $3::uuid AND revoked IS NULL
      """)
  /// Notes that an installation uses a name, if its device has that name still and it was neither revoked nor replaced. The lock of
  /// the device comes before that of the name, as in each transaction: what removes the device at this moment also frees the name.
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
  static let forgetOldNames = PostgresStatement(
    name: "callgate_forget_old_names",
    sql: """
      DELETE FROM callgate_hook_name WHERE name IN (
        SELECT name FROM callgate_hook_name WHERE holder = $1::uuid
        ORDER BY last DESC OFFSET $2::bigint FOR UPDATE SKIP LOCKED)
      """)
  static let freeNames = PostgresStatement(
    name: "callgate_free_names",
    sql: "DELETE FROM callgate_hook_name WHERE holder = $1::uuid AND holder_generation = $2::bigint")
  static let lockSameDevice = PostgresStatement(
    name: "callgate_lock_same_device",
    sql: """
      SELECT FROM callgate_device WHERE installation = $1::uuid AND name = $2::bytea AND registered = $3::bigint
      FOR UPDATE
      """)
  static let removeDevice = PostgresStatement(
    name: "callgate_remove_device", sql: "DELETE FROM callgate_device WHERE installation = $1::uuid")
  static let removeDeviceElsewhere = PostgresStatement(
    name: "callgate_remove_device_elsewhere",
    sql: "DELETE FROM callgate_device WHERE name = $1::bytea AND installation <> $2::uuid")
  /// Under the lock of its installation.
  static let putDevice = PostgresStatement(
    name: "callgate_put_device",
    sql: """
      INSERT INTO callgate_device (installation, platform, token, name, registered)
      VALUES ($1::uuid, $2, $3, $4::bytea, $5::bigint)
      ON CONFLICT (installation) DO UPDATE SET platform = excluded.platform, token = excluded.token,
        name = excluded.name, registered = excluded.registered
      """)

  // MARK: Claims

  static let putClaim = PostgresStatement(
    name: "callgate_put_claim",
    sql: """
      INSERT INTO callgate_claim (id, installation, app, created, expires, receipts, state, generation)
      VALUES ($1::bytea, $2::uuid, $3, $4::bigint, $5::bigint, $6::bytea, 'live', $7::bigint)
      """)
  /// A live claim; of an installation, and before its time is over, where these are given.
  static let lockClaim = PostgresStatement(
    name: "callgate_lock_claim",
    sql: """
      SELECT FROM callgate_claim WHERE id = $1::bytea AND state = 'live'
        AND ($2::uuid IS NULL OR installation = $2::uuid) AND ($3::bigint IS NULL OR expires > $3::bigint)
        AND ($4::bigint IS NULL OR coalesce(generation, $4::bigint) = $4::bigint)
      FOR UPDATE
      """)
  /// Others hold a claim only to end it, so what is held is passed over.
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
  static let forgetOldClaims = PostgresStatement(
    name: "callgate_forget_old_claims",
    sql: """
      DELETE FROM callgate_claim WHERE id IN (
        SELECT id FROM callgate_claim WHERE installation = $1::uuid AND state <> 'live'
        ORDER BY created DESC OFFSET $2::bigint FOR UPDATE SKIP LOCKED)
      """)
}
