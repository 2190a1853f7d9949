// The SQL statements on logins that SQLite and PostgreSQL share.

enum LoginStatements {
  static let logins = Query<StoredLogin>("logins", where: "last >= $1 ORDER BY last DESC, id DESC LIMIT $2")

  /// Saves a login. Several instances may save the same one: the saved row changes only for another
  /// credential, or if its time is at least `StoredLogin.grain` seconds older.
  static let save = Change(
    "save_login",
    """
    INSERT INTO callgate_login AS kept (\(LoginColumn.table.list)) VALUES ($1, $2, $3, $4)
    ON CONFLICT (id) DO UPDATE SET credential = excluded.credential, last = excluded.last
    WHERE kept.credential <> excluded.credential OR kept.last <= excluded.last - \(StoredLogin.grain)000000000
    """)

  /// Removes all but the newest logins. `$1` is one less than the number of logins to keep.
  static let removeOldest = Change(
    "remove_oldest_logins",
    deleting: """
      DELETE FROM callgate_login WHERE id IN (
        SELECT older.id FROM callgate_login AS older WHERE (older.last, older.id) < (
          SELECT last, id FROM callgate_login ORDER BY last DESC, id DESC LIMIT 1 OFFSET $1)
      """)

  static let purge = Change(purging: "logins", "callgate_login", where: "kept.last <= $1")
}
