// The SQL statements on blocked numbers, and on the key for hashes of phone numbers, that SQLite and
// PostgreSQL share.

import Gate

enum NumberStatements {
  // MARK: The key

  static let key = Query<StoredNumberKey>(
    "number_key", "SELECT sealed, sealing_key FROM callgate_number_key WHERE id = $1", [.bytes, .bytes]
  ) { row throws(UnreadableValue) in
    StoredNumberKey(value: try row.optionalBytes(0), isSealed: !row.isNull(1))
  }

  static let saveKey = Change(
    "save_number_key",
    """
    INSERT INTO callgate_number_key (id, sealed, sealing_key, sealed_until) VALUES ($1, $2, $3, 0)
    ON CONFLICT (id) DO NOTHING
    """)

  // MARK: Blocked numbers

  /// The name in `callgate_meta` of the last serial.
  static let serial = ColumnValue.text("blocked numbers")

  /// The first statement of each transaction that changes blocked numbers. Its row lock serializes the
  /// transactions of all instances, so serials become visible in order.
  static let raiseSerial = Change(
    "raise_block_serial",
    """
    INSERT INTO callgate_meta AS kept (name, value) VALUES ($1, '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(kept.value AS bigint) + 1 AS text)
    """)

  /// Blocks a number. `$9` is the maximum number of blocked numbers, this one included.
  static let block = Change(
    "block_number",
    """
    INSERT INTO callgate_blocked_number (id, mask, reason, since, ends, operator, operator_by, serial)
    SELECT $1, $2, $3, $4, $5, $6, $7, CAST(value AS bigint) FROM callgate_meta
    WHERE name = $8 AND $9 > (
      SELECT count(*) FROM callgate_blocked_number AS other
      WHERE (other.ends IS NULL OR other.ends > $4) AND other.id <> $1)
    ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, since = excluded.since, ends = excluded.ends,
      operator = excluded.operator, operator_by = excluded.operator_by, serial = excluded.serial
    """)

  static let unblock = Change(
    "unblock_number",
    """
    UPDATE callgate_blocked_number
    SET ends = $1, serial = (SELECT CAST(value AS bigint) FROM callgate_meta WHERE name = $2)
    WHERE id = $3 AND (ends IS NULL OR ends > $1)
    """)

  static let blocked = Query<BlockedNumber>(
    "blocked_numbers", where: "serial < $1 AND (ends IS NULL OR ends > $2) ORDER BY serial DESC LIMIT $3")

  static let changes = Query<BlockChange>(
    "block_changes",
    "SELECT id, ends, serial FROM callgate_blocked_number WHERE serial > $1 ORDER BY serial LIMIT $2",
    [.id, .integer, .integer]
  ) { row throws(UnreadableValue) in
    BlockChange(
      id: try row.id(0), until: try row.optionalInteger(1).map { Instant(nanosecondsSinceEpoch: $0) },
      serial: try row.integer(2))
  }

  static let purge = Change(purging: "blocked_numbers", "callgate_blocked_number", where: "kept.ends <= $1")
}
