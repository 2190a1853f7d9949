// Reads the columns of a row of PostgreSQL.

import Store

/// A row of a result, its columns as text.
///
/// A column that cannot be read is an error and never nil: the caller would take the value for absent, and
/// might write the row back without it.
struct PostgresRow: Equatable {
  private let columns: ArraySlice<String?>

  init(_ columns: [String?]) { self.columns = columns[...] }

  private init(_ columns: ArraySlice<String?>) { self.columns = columns }

  /// A column as the server wrote it; nil for NULL.
  subscript(column: Int) -> String? { columns[columns.startIndex + column] }

  /// The row without its first columns.
  func dropFirst(_ count: Int) -> PostgresRow { PostgresRow(columns.dropFirst(count)) }

  // MARK: Columns that may be NULL

  func optional<Value>(_ column: Int, _ read: (String) -> Value?) throws(PostgresFailure) -> Value? {
    guard let text = self[column] else { return nil }
    guard let value = read(text) else { throw Self.unreadable(column) }
    return value
  }

  func optionalInteger(_ column: Int) throws(PostgresFailure) -> Int64? { try optional(column) { Int64($0) } }
  func optionalID(_ column: Int) throws(PostgresFailure) -> StoreID? {
    try optional(column) { StoreID(hex: $0) }
  }
  func optionalBytes(_ column: Int) throws(PostgresFailure) -> [UInt8]? {
    try optional(column) { PostgresText.bytes($0) }
  }

  // MARK: Columns that always have a value

  func value<Value>(_ column: Int, _ read: (String) -> Value?) throws(PostgresFailure) -> Value {
    guard let value = try optional(column, read) else { throw Self.unreadable(column) }
    return value
  }

  func integer(_ column: Int) throws(PostgresFailure) -> Int64 { try value(column) { Int64($0) } }
  func id(_ column: Int) throws(PostgresFailure) -> StoreID { try value(column) { StoreID(hex: $0) } }
  func bytes(_ column: Int) throws(PostgresFailure) -> [UInt8] {
    try value(column) { PostgresText.bytes($0) }
  }

  /// The failure for a column that cannot be read. It omits the value, which may be a customer's.
  static func unreadable(_ column: Int) -> PostgresFailure {
    PostgresFailure(
      operation: "read", state: "XX001",
      message: "column \(column + 1) of a row has a value that cannot be read")
  }
}
