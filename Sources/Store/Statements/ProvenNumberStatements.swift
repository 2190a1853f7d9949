// The SQL statements on proven numbers that SQLite and PostgreSQL share.

package import Gate

package enum ProvenNumberStatements {
  package static let proven = Query<Instant>(
    "proven_number", "SELECT proven FROM callgate_proven_number WHERE id = $1", [.integer]
  ) { row throws(UnreadableValue) in try row.time(0) }

  /// Saves a proven number. A number that is proven again becomes the newest. Serials limit the table without
  /// counting its rows.
  static let remember = Change(
    "remember_number",
    """
    INSERT INTO callgate_proven_number (id, owner, proven, expires, serial)
    VALUES ($1, $2, $3, $4, (SELECT coalesce(max(serial), 0) + 1 FROM callgate_proven_number))
    ON CONFLICT (id) DO UPDATE SET proven = excluded.proven, expires = excluded.expires, serial = excluded.serial
    """)

  /// Deletes all but the newest numbers of an owner. `$2` is one less than the number of rows to keep.
  static let forgetOldest = Change(
    "forget_oldest_numbers",
    deleting: """
      DELETE FROM callgate_proven_number WHERE id IN (
        SELECT older.id FROM callgate_proven_number AS older WHERE older.owner = $1 AND older.serial < (
          SELECT serial FROM callgate_proven_number WHERE owner = $1 ORDER BY serial DESC LIMIT 1 OFFSET $2)
      """)

  static let forgetBeyond = Change("forget_numbers_beyond", beyondNewest: "callgate_proven_number")

  static let purge = Change(
    purging: "proven_numbers", "callgate_proven_number", where: "kept.expires <= $1")
}
