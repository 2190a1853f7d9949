// The SQLite statement that writes a row of a declared table.

import Store

extension Table {
  /// The statement that inserts a row, or replaces the one with the same first column. If none of the columns
  /// ever changes, an existing row stays.
  var upsert: String {
    """
    INSERT INTO \(name) (\(list)) VALUES (\(repeatElement("?", count: count).joined(separator: ", ")))
    \(onConflict)
    """
  }
}
