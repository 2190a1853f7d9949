// The statements on named values that every database takes: registered triggers and the ends of audit chains.

enum MetaStatements {
  static let triggers = Query<StoredTrigger?>("triggers", named, [.text, .text]) {
    row throws(UnreadableValue) in StoredTrigger(try row.text(0), stored: try row.text(1))
  }
  static let anchors = Query<StoredAnchor?>("anchors", named, [.text, .text]) {
    row throws(UnreadableValue) in StoredAnchor(try row.text(0), stored: try row.text(1))
  }
  /// By a pattern: the order of names is the database's, and a range means another thing in another collation.
  private static let named = "SELECT name, value FROM callgate_meta WHERE name LIKE $1 ORDER BY name"
  static let save = Change(
    "save_meta",
    """
    INSERT INTO callgate_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """)
  static let forget = Change("forget_meta", "DELETE FROM callgate_meta WHERE name = $1")
}
