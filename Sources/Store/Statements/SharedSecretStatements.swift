// The statements on shared secrets that every database takes.

import JOSE

enum SharedSecretStatements {
  /// What its name in `callgate_meta` begins with.
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
