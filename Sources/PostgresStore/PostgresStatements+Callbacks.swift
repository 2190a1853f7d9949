// The SQL statements for callback records in PostgreSQL.

import Store

extension PostgresStatements {
  static func columns(_ table: String = "") -> String {
    table.isEmpty ? CallbackColumn.table.list : CallbackColumn.table.list(of: table)
  }

  // MARK: Reading

  /// The dedupe entries of an older release, by their ids, with the records that they name.
  static let formerPlaces = PostgresStatement(
    name: "callgate_former_places",
    sql: """
      SELECT \(PlaceColumn.table.list(of: "kept")), \(columns("named"))
      FROM callgate_callback_place AS kept JOIN callgate_callback AS named ON named.id = kept.callback
      WHERE kept.id = ANY($1::uuid[])
      """)
  /// The keys and dedupe entries of records, to be locked before the records.
  static let rowsOfRecords = PostgresStatement(
    name: "callgate_rows_of_records",
    sql: "SELECT id, key, place FROM callgate_callback WHERE id = ANY($1::uuid[])")

  // MARK: Locking, by every transaction in this order, and each kind in the order of ids

  /// Locks the numbers of calls, by a short hash of their hash. Two numbers with the same short hash wait for
  /// each other, which costs time and nothing else.
  static let lockLines = PostgresStatement(
    name: "callgate_lock_lines",
    sql: """
      SELECT pg_advisory_xact_lock(4, line) FROM (
        SELECT DISTINCT hashtext(name::text) AS line FROM unnest($1::uuid[]) AS name ORDER BY 1 OFFSET 0) AS sorted
      """)
  static let lockKeys = PostgresStatement(
    name: "callgate_lock_keys",
    sql: """
      INSERT INTO callgate_callback_key AS kept (id, expires)
      SELECT unnest($1::uuid[]), 0 ORDER BY 1
      ON CONFLICT (id) DO UPDATE SET expires = kept.expires
      RETURNING \(KeyColumn.table.list)
      """)
  static let lockPlaces = PostgresStatement(
    name: "callgate_lock_places",
    sql: """
      INSERT INTO callgate_callback_place AS kept (id, expires)
      SELECT unnest($1::uuid[]), 0 ORDER BY 1
      ON CONFLICT (id) DO UPDATE SET expires = kept.expires
      RETURNING \(PlaceColumn.table.list)
      """)
  /// Locks records by their ids, and the records of keys that are already locked.
  static let lockCallbacks = PostgresStatement(
    name: "callgate_lock_callbacks",
    sql: """
      SELECT \(columns()) FROM callgate_callback WHERE id = ANY(ARRAY(
        SELECT unnest($1::uuid[])
        UNION SELECT callback FROM callgate_callback_key WHERE id = ANY($2::uuid[]) AND callback IS NOT NULL))
      ORDER BY id FOR UPDATE
      """)

  /// Locks the installations that book, before keys and records: none is revoked while one of its
  /// appointments is written.
  static let lockInstallations = PostgresStatement(
    name: "callgate_lock_installations",
    sql: """
      SELECT id, generation FROM callgate_installation WHERE id = ANY($1::uuid[]) AND revoked IS NULL
      ORDER BY id FOR SHARE
      """)
  /// Locks an installation that is being revoked or replaced. The lock waits for transactions that book for
  /// the installation. Later ones do not find it.
  static let lockInstallation = PostgresStatement(
    name: "callgate_lock_installation",
    sql: "SELECT FROM callgate_installation WHERE id = $1::uuid FOR UPDATE")
  /// The appointments of an installation, with their keys, dedupe entries and contents. No index covers the
  /// conditions after the owner: an owner has few appointments.
  static let ofInstallation = PostgresStatement(
    name: "callgate_of_installation",
    sql: """
      SELECT id, key, place, content FROM callgate_callback
      WHERE status = 'scheduled' AND caller = $1 AND coalesce(subject, caller) = $2
        AND (installation = $3::uuid AND generation = $4::bigint OR notifies = $3::uuid AND notifies_generation = $4::bigint)
      """)

  // MARK: Writing

  /// Two instances whose clocks differ may take the same notification one after the other: the first row
  /// stays.
  static let putNotices = PostgresStatement(name: "callgate_put_notices", sql: NoticeColumn.table.upsert)
  static let putCallbacks = PostgresStatement(
    name: "callgate_put_callbacks", sql: CallbackColumn.table.upsert)
  /// Updates rows that are already locked.
  static let putKeys = PostgresStatement(name: "callgate_put_keys", sql: KeyColumn.table.update)
  static let putPlaces = PostgresStatement(name: "callgate_put_places", sql: PlaceColumn.table.update)
  static let removeCallbacks = PostgresStatement(
    name: "callgate_remove_callbacks", sql: "DELETE FROM callgate_callback WHERE id = ANY($1::uuid[])")
  static let removeKeys = PostgresStatement(
    name: "callgate_remove_keys", sql: "DELETE FROM callgate_callback_key WHERE id = ANY($1::uuid[])")
  static let removePlaces = PostgresStatement(
    name: "callgate_remove_places", sql: "DELETE FROM callgate_callback_place WHERE id = ANY($1::uuid[])")

  // MARK: Recovering

  /// Saves the heartbeat of an instance. `since` is the start of its heartbeats without a gap.
  static let signalLife = PostgresStatement(
    name: "callgate_signal_life",
    sql: """
      INSERT INTO callgate_instance AS kept (id, since, alive_until)
      VALUES ($1::bigint, clock_timestamp(), clock_timestamp() + interval '10 s')
      ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until,
        since = CASE WHEN kept.alive_until < clock_timestamp() THEN excluded.since ELSE kept.since END
      """)
  /// Recovers pending records of two kinds: those of this instance ($1) that are overdue at $2 and not being
  /// carried out ($4), and those of instances that are gone. An instance is gone if it has left, or if it
  /// sent no heartbeat for its lifetime of ten seconds while this one did. So after an outage of the server,
  /// all instances can send a heartbeat first. The retention of codes and appointments counts from this end.
  /// A key that another transaction has locked keeps its expiry: to wait for it would break the order of
  /// locks.
  static let recover = PostgresStatement(
    name: "callgate_recover",
    sql: """
      WITH ended AS (
        UPDATE callgate_callback SET status = 'unknown', settled = $2::bigint, code = $3,
          verification_until = CASE WHEN verification_until IS NOT NULL
            THEN $2::bigint + coalesce(key_retention, verification_until - abandoned) END,
          expires = coalesce($2::bigint + greatest(retention, key_retention), expires),
          content = NULL, content_key = NULL, content_until = NULL,
          notice_state = CASE WHEN notifies IS NOT NULL THEN 'waiting' END,
          notice_next = CASE WHEN notifies IS NOT NULL THEN $2::bigint + $5::bigint END,
          notice_tries = CASE WHEN notifies IS NOT NULL THEN 0 END
        WHERE id IN (
          SELECT id FROM callgate_callback AS kept WHERE status = 'pending' AND (
            (instance = $1::bigint AND abandoned <= $2::bigint AND id <> ALL ($4::uuid[]))
            OR NOT EXISTS (SELECT 1 FROM callgate_instance AS owner WHERE owner.id = kept.instance)
            OR EXISTS (
              SELECT 1 FROM callgate_instance AS owner, callgate_instance AS own
              WHERE owner.id = kept.instance AND owner.alive_until < clock_timestamp()
                AND own.id = $1::bigint AND own.since <= clock_timestamp() - interval '10 s'))
          FOR UPDATE SKIP LOCKED)
        RETURNING id, key, key_retention, ticket),
      keys AS (
        UPDATE callgate_callback_key AS kept SET expires = $2::bigint + held.key_retention
        FROM (
          SELECT named.id, ended.key_retention FROM ended
          JOIN callgate_callback_key AS named ON named.id = ended.key AND named.callback = ended.id
          WHERE ended.key_retention IS NOT NULL FOR UPDATE OF named SKIP LOCKED) AS held
        WHERE kept.id = held.id)
      SELECT count(*) FILTER (WHERE ticket IS NULL), count(ticket) FROM ended
      """)
  static let endInstance = PostgresStatement(
    name: "callgate_end_instance", sql: "DELETE FROM callgate_instance WHERE id = $1::bigint")

  // MARK: Forgetting

  /// Removes instances that have been gone for an hour and left no pending record.
  static let purgeInstances = PostgresStatement(
    name: "callgate_purge_instances",
    sql: """
      DELETE FROM callgate_instance AS gone WHERE alive_until < clock_timestamp() - interval '1 h' AND NOT EXISTS (
        SELECT 1 FROM callgate_callback WHERE status = 'pending' AND instance = gone.id)
      """)
}
