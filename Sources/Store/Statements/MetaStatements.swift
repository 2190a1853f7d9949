// The statements on named values that every database takes.

enum MetaStatements {
  /// By a pattern: a range of names means another thing in another collation. So does their order.
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
  /// The text of a name.
  static let read = Query<String>("read_meta", "SELECT value FROM callgate_meta WHERE name = $1", [.text]) {
    row throws(UnreadableValue) in try row.text(0)
  }
  /// Adds a name that is not there.
  static let add = Change(
    "add_meta", "INSERT INTO callgate_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
  /// Changes a text that nobody else has changed.
  static let replace = Change(
    "replace_meta", "UPDATE callgate_meta SET value = $1 WHERE name = $2 AND value = $3")
  static let forget = Change("forget_meta", "DELETE FROM callgate_meta WHERE name = $1")
}
