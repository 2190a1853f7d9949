// The SQL statements on verdicts on numbers that SQLite and PostgreSQL share.

enum ScreeningStatements {
  static let verdict = Query<ScreeningVerdict>("screening", where: "id = $1")

  static let save = Change(
    "save_screening",
    """
    INSERT INTO callgate_screening (\(ScreeningColumn.table.list), serial)
    VALUES ($1, $2, $3, $4, (SELECT coalesce(max(serial), 0) + 1 FROM callgate_screening))
    ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, refusal = excluded.refusal, \
    ends = excluded.ends, serial = excluded.serial
    """)

  static let removeOldest = Change("remove_oldest_screenings", beyondNewest: "callgate_screening")

  static let forget = Change("forget_screening", "DELETE FROM callgate_screening WHERE id = $1")

  static let purge = Change(purging: "screenings", "callgate_screening", where: "kept.ends <= $1")
}
