// The SQL statements on shared secrets that SQLite and PostgreSQL share.

import JOSE

enum SharedSecretStatements {
  /// The start of a secret's name in `callgate_meta`.
  static let prefix = "secret "
  static let save = Change(
    "save_shared_secret",
    "INSERT INTO callgate_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
  static let read = Query<[UInt8]>(
    "shared_secret", "SELECT value FROM callgate_meta WHERE name = $1", [.text]
  ) { row throws(UnreadableValue) in
    guard let bytes = Hex.decode(try row.text(0)) else { throw UnreadableValue(column: 0) }
    return bytes
  }
}
