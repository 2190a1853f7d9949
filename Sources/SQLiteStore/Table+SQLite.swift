// The statements of a declared table in SQLite.

import Store

extension Table {
  /// Writes a row, in place of the one with the same first column; the old one stays where none of its columns ever changes.
  var upsert: String {
    """
    INSERT INTO \(name) (\(list)) VALUES (\(repeatElement("?", count: count).joined(separator: ", ")))
    \(onConflict)
    """
  }
}
