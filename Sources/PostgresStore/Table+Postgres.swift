// Creates PostgreSQL statements for a declared table, and converts its values to and from text.

import Gate
import Store

extension ColumnType {
  /// PostgreSQL's name for the type.
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
  /// The parameters of a statement, one array for each column, as rows.
  private var rows: String {
    "unnest(\(types.enumerated().map { "$\($0 + 1)::\($1.name)[]" }.joined(separator: ", ")))"
  }

  /// The statement that updates existing rows, given as an array for each column.
  var update: String {
    let updates = columns.dropFirst().map { "\($0) = new.\($0)" }.joined(separator: ", ")
    return "UPDATE \(name) AS kept SET \(updates) FROM \(rows) AS new (\(list)) WHERE kept.id = new.id"
  }

  /// The statement that inserts rows, given as an array for each column, or replaces those with the same
  /// first column. If none of the columns ever changes, an existing row stays.
  var upsert: String {
    "INSERT INTO \(name) (\(list)) SELECT * FROM \(rows) \(onConflict)"
  }

  /// The parameters of `update` and `upsert`: an array for each column.
  func arrays(of entries: [Column.Entry]) -> [String?] {
    let rows = entries.map { values(of: $0) }
    return types.indices.map { column in
      switch types[column] {
      case .integer, .small, .id: PostgresText.array(rows.map { $0[column].postgresText ?? "NULL" })
      case .text, .bytes: PostgresText.array(quoting: rows.map { $0[column].postgresText })
      case .words:
        PostgresText.array(quoting: rows.map { $0[column].postgresText?.replacing("\0", with: "\u{FFFD}") })
      }
    }
  }
}

extension ColumnValue {
  /// The value as the server reads it; nil for NULL.
  var postgresText: String? {
    switch self {
    case .integer(let number): "\(number)"
    case .text(let text): text
    case .bytes(let bytes): PostgresText.bytea(bytes)
    case .id(let id): id.hex
    case .null: nil
    }
  }
}

extension PostgresCommand {
  /// A query with its parameters.
  init<Row>(_ query: Query<Row>, _ values: [ColumnValue]) {
    self = .prepared(
      PostgresStatement(name: "callgate_\(query.name)", sql: query.sql), values.map(\.postgresText))
  }

  /// A change with its parameters.
  init(_ call: ChangeCall) {
    self = .prepared(
      PostgresStatement(name: "callgate_\(call.change.name)", sql: call.change.withLocks),
      call.values.map(\.postgresText))
  }
}

extension PostgresRow {
  /// Reads an entry of a table, from the first column of this row on.
  func entry<Entry: TableEntry>() throws(PostgresFailure) -> Entry {
    try read(Entry.Column.table.types) { row throws(UnreadableValue) in try row.entry() }
  }

  /// Reads the row of a query.
  func read<Row>(_ query: Query<Row>) throws(PostgresFailure) -> Row { try read(query.types, query.read) }

  private func read<Value>(
    _ types: [ColumnType], _ body: (ResultRow) throws(UnreadableValue) -> Value
  ) throws(PostgresFailure) -> Value {
    var values: [ColumnValue] = []
    values.reserveCapacity(types.count)
    for (column, type) in types.enumerated() {
      values.append(try optional(column) { Self.value($0, type) } ?? .null)
    }
    do throws(UnreadableValue) {
      return try body(ResultRow(values))
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
