// The statements on registered triggers that every database takes.

enum TriggerStatements {
  static let triggers = Query<StoredTrigger?>(
    "triggers", "SELECT name, value FROM callgate_meta WHERE name >= $1 AND name < $2 ORDER BY name",
    [.text, .text]
  ) { row throws(UnreadableValue) in StoredTrigger(try row.text(0), stored: try row.text(1)) }
  static let save = Change(
    "save_trigger",
    """
    INSERT INTO callgate_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """)
  static let forget = Change("forget_trigger", "DELETE FROM callgate_meta WHERE name = $1")
}
