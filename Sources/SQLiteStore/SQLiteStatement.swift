// One prepared statement of SQLite.

import CSQLite
import Glibc
import Store

/// A statement: made by `sqlite3_prepare_v3`, ended by `sqlite3_finalize`, used on its connection's queue.
///
/// The statement keeps its connection alive, because it must end before the connection.
final class SQLiteStatement {
  private let connection: SQLiteConnection
  fileprivate let handle: OpaquePointer
  /// Whether the row that was read last has a value that cannot be read.
  fileprivate var isUnreadable = false

  init(_ connection: SQLiteConnection, _ sql: String) throws(StoreError) {
    var handle: OpaquePointer?
    let code = sqlite3_prepare_v3(
      connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    guard code == SQLITE_OK, let handle else { throw connection.error("prepare", code) }
    self.connection = connection
    self.handle = handle
  }

  deinit { sqlite3_finalize(handle) }

  /// Runs the statement with values for its parameters, and passes each row to `row`. Fails at the first row
  /// with a value that cannot be read.
  func run(_ values: [ColumnValue] = [], row: (SQLiteRow) -> Void = { _ in }) throws(StoreError) {
    for (index, value) in values.enumerated() {
      let code: Int32
      switch value {
      case .integer(let number): code = sqlite3_bind_int64(handle, Int32(index + 1), number)
      case .text(let text):
        code = callgate_sqlite_bind_text(handle, Int32(index + 1), text, Int32(text.utf8.count))
      case .bytes(let bytes):
        code = callgate_sqlite_bind_blob(handle, Int32(index + 1), bytes, Int32(bytes.count))
      case .id(let id): code = callgate_sqlite_bind_blob(handle, Int32(index + 1), id.bytes, 16)
      case .null: code = sqlite3_bind_null(handle, Int32(index + 1))
      }
      guard code == SQLITE_OK else { throw connection.error("bind", code) }
    }
    defer {
      sqlite3_reset(handle)
      sqlite3_clear_bindings(handle)
    }
    errno = 0
    while true {
      let code = sqlite3_step(handle)
      switch code {
      case SQLITE_ROW:
        row(SQLiteRow(statement: self))
        guard !isUnreadable else {
          isUnreadable = false
          throw StoreError(.damaged, "read", "a row has a value that cannot be read")
        }
      case SQLITE_DONE: return
      default: throw connection.error("step", code)
      }
    }
  }
}

/// The current row of a statement.
struct SQLiteRow {
  fileprivate let statement: SQLiteStatement
  private var handle: OpaquePointer { statement.handle }

  /// A column as an integer; 0 for NULL.
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  /// A column as text; empty for NULL.
  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(handle, column) else { return "" }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// A column as bytes; empty for NULL.
  func blob(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  /// Whether a column has a value.
  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

  /// Reads an entry of a table, from the first column on. Returns nil for one that cannot be read, and the
  /// statement fails.
  func entry<Entry: TableEntry>() -> Entry? {
    read(Entry.Column.table.types) { row throws(UnreadableValue) in try row.entry() }
  }

  /// Reads the row of a query. Returns nil for one that cannot be read, and the statement fails.
  func read<Row>(_ query: Query<Row>) -> Row? { read(query.types, query.read) }

  private func read<Value>(
    _ types: [ColumnType], _ body: (ResultRow) throws(UnreadableValue) -> Value
  ) -> Value? {
    var values: [ColumnValue] = []
    values.reserveCapacity(types.count)
    for (column, type) in zip(Int32(0)..., types) {
      if isNull(column) {
        values.append(.null)
      } else {
        switch type {
        case .integer, .small: values.append(.integer(integer(column)))
        case .text, .words: values.append(.text(text(column)))
        case .bytes: values.append(.bytes(blob(column)))
        case .id:
          guard let id = id(column) else { return nil }
          values.append(.id(id))
        }
      }
    }
    do throws(UnreadableValue) {
      return try body(ResultRow(values))
    } catch {
      return unreadable()
    }
  }

  // MARK: Values that may be invalid: nil for one that cannot be read, and the statement fails

  func id(_ column: Int32) -> StoreID? { StoreID(bytes: blob(column)) ?? unreadable() }

  /// Makes the statement fail. Otherwise the value would count as absent, and a later write could replace it
  /// with NULL.
  func unreadable<Value>() -> Value? {
    statement.isUnreadable = true
    return nil
  }
}
