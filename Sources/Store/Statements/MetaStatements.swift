// The SQL statements on named values that SQLite and PostgreSQL share.

enum MetaStatements {
  /// Reads the named values of a type. Uses LIKE and not a range of names: a range depends on the collation
  /// of the database, and so does the order of the rows.
  static func named<Value: NamedValue>(_: Value.Type) -> Query<Value?> {
    Query("named", "SELECT name, value FROM callgate_meta WHERE name LIKE $1", [.text, .text]) {
      row throws(UnreadableValue) in Value(storedName: try row.text(0), try row.text(1))
    }
  }
  static let save = Change(
    "save_meta",
    """
    INSERT INTO callgate_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """)
  /// Reads the value of a name.
  static let read = Query<String>("read_meta", "SELECT value FROM callgate_meta WHERE name = $1", [.text]) {
    row throws(UnreadableValue) in try row.text(0)
  }
  /// Adds a name with its value, unless the name exists.
  static let add = Change(
    "add_meta", "INSERT INTO callgate_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
  /// Changes the value of a name, unless someone else has changed it. `$3` is the value that was read.
  static let replace = Change(
    "replace_meta", "UPDATE callgate_meta SET value = $1 WHERE name = $2 AND value = $3")
  static let forget = Change("forget_meta", "DELETE FROM callgate_meta WHERE name = $1")
}
