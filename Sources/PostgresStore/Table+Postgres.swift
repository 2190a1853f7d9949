// The statements of a declared table in PostgreSQL, and its values as text.

import Gate
import Store

extension ColumnType {
  /// The database's own name.
  fileprivate var name: String {
    switch self {
    case .integer: "bigint"
    case .small: "integer"
    case .text, .words: "text"
    case .bytes: "bytea"
    case .id: "uuid"
    }
  }
}

extension Table {
  /// Writes rows, given as an array for each column, in place of those with the same first column. An old one stays where none of its
  /// columns ever changes.
  var upsert: String {
    let arrays = types.enumerated().map { "$\($0 + 1)::\($1.name)[]" }.joined(separator: ", ")
    return """
      INSERT INTO \(name) (\(list)) SELECT * FROM unnest(\(arrays))
      \(onConflict(greatest: "greatest"))
      """
  }

  /// The parameters of `upsert`.
  func arrays(of entries: [Column.Entry]) -> [String?] {
    let rows = entries.map { values(of: $0) }
    return types.indices.map { column in
      switch types[column] {
      case .integer, .small, .id: PostgresText.array(rows.map { Self.text($0[column]) ?? "NULL" })
      case .text, .bytes: PostgresText.array(quoting: rows.map { Self.text($0[column]) })
      case .words:
        PostgresText.array(quoting: rows.map { Self.text($0[column])?.replacing("\0", with: "\u{FFFD}") })
      }
    }
  }

  private static func text(_ value: ColumnValue) -> String? {
    switch value {
    case .integer(let number): "\(number)"
    case .text(let text): text
    case .bytes(let bytes): PostgresText.bytea(bytes)
    case .id(let id): id.hex
    case .null: nil
    }
  }
}

extension PostgresRow {
  /// A row of a table, from the first column of this row on.
  func entry<Entry: TableEntry>() throws(PostgresFailure) -> Entry {
    let types = Entry.Column.table.types
    var values: [ColumnValue] = []
    values.reserveCapacity(types.count)
    for (column, type) in types.enumerated() {
      values.append(try optional(column) { Self.value($0, type) } ?? .null)
    }
    do throws(UnreadableValue) {
      return try Entry(TableRow(values))
    } catch {
      throw Self.unreadable(error.column)
    }
  }

  private static func value(_ text: String, _ type: ColumnType) -> ColumnValue? {
    switch type {
    case .integer, .small: Int64(text).map { .integer($0) }
    case .text, .words: .text(text)
    case .bytes: PostgresText.bytes(text).map { .bytes($0) }
    case .id: StoreID(hex: text).map { .id($0) }
    }
  }
}
