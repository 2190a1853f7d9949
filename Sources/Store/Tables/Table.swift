// Declares a table once for every database: its columns, their types, and how a row is written and read.

package import Gate
package import JOSE

/// The columns of a table: one case for each, in the order in which rows are read and written.
///
/// The compiler finds a forgotten column: `column` needs a description of each case, and the entry's
/// initializer needs a value for each property.
package protocol TableColumn: CaseIterable, RawRepresentable<Int>, Sendable where AllCases == [Self] {
  /// The type of the values that the rows contain.
  associatedtype Entry: TableEntry where Entry.Column == Self

  static var table: Table<Self> { get }
  var column: ColumnDescription<Entry> { get }
}

/// A value that is saved as a row of a table.
package protocol TableEntry {
  associatedtype Column: TableColumn where Column.Entry == Self

  /// Reads the value from a row.
  init(_ row: TableRow<Column>) throws(UnreadableValue)
}

/// The error for a value in a row that cannot be read. Such a value is never treated as absent, because a
/// later write would then delete it.
package struct UnreadableValue: Error {
  /// The index of the column.
  package let column: Int

  package init(column: Int) { self.column = column }
}

/// The description of a column: its type, its value, and whether it ever changes.
package struct ColumnDescription<Entry>: Sendable {
  /// Whether a column of an existing row may change.
  package enum Change: Sendable {
    case never, changes
    /// The column changes only to a greater value.
    case grows
  }

  package let type: ColumnType
  package let change: Change
  package let value: @Sendable (Entry) -> ColumnValue

  package static func integer(
    _ change: Change, _ value: @escaping @Sendable (Entry) -> Int64?
  ) -> Self {
    Self(type: .integer, change: change) { .optional(value($0)) }
  }
  package static func small(
    _ change: Change, _ value: @escaping @Sendable (Entry) -> Int?
  ) -> Self {
    Self(type: .small, change: change) { .optional(value($0).map { Int64($0) }) }
  }
  /// A time, in nanoseconds since the epoch.
  package static func time(
    _ change: Change, _ value: @escaping @Sendable (Entry) -> Instant?
  ) -> Self {
    Self(type: .integer, change: change) { .time(value($0)) }
  }
  package static func text(
    _ change: Change, _ value: @escaping @Sendable (Entry) -> String?
  ) -> Self {
    Self(type: .text, change: change) { .optional(value($0)) }
  }
  package static func words(
    _ change: Change, _ value: @escaping @Sendable (Entry) -> String?
  ) -> Self {
    Self(type: .words, change: change) { .optional(value($0)) }
  }
  package static func bytes(
    _ change: Change, _ value: @escaping @Sendable (Entry) -> [UInt8]?
  ) -> Self {
    Self(type: .bytes, change: change) { .optional(value($0)) }
  }
  package static func id(
    _ change: Change, _ value: @escaping @Sendable (Entry) -> StoreID?
  ) -> Self {
    Self(type: .id, change: change) { .optional(value($0)) }
  }
}

/// The names of a table and its columns, for use in statements.
package struct Table<Column: TableColumn>: Sendable {
  package let name: String
  package let columns: [String]
  package let types: [ColumnType]
  private let descriptions: [ColumnDescription<Column.Entry>]
  /// For each column, the function that returns its value. Writing a row without the descriptions around
  /// these functions takes half the instructions.
  private let writers: [@Sendable (Column.Entry) -> ColumnValue]

  /// A table whose columns are named after the cases: `upstream_status` for `upstreamStatus`.
  package init(_ name: String) {
    self.name = name
    columns = Column.allCases.map { column in
      "\(column)".reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : "\($1)" }
    }
    descriptions = Column.allCases.map(\.column)
    types = descriptions.map(\.type)
    writers = descriptions.map(\.value)
  }

  package var count: Int { columns.count }

  /// The names of the columns, separated by commas, as after SELECT.
  package var list: String { columns.joined(separator: ", ") }

  /// The same list, with an alias of the table before each name.
  package func list(of alias: String) -> String { columns.map { "\(alias).\($0)" }.joined(separator: ", ") }

  /// The clause of an INSERT that updates an existing row with the same value in the first column.
  package var onConflict: String {
    let updates = zip(columns, descriptions).compactMap { column, description -> String? in
      switch description.change {
      case .never: nil
      case .changes: "\(column) = excluded.\(column)"
      case .grows:
        "\(column) = CASE WHEN excluded.\(column) > \(name).\(column) THEN excluded.\(column) ELSE \(name).\(column) END"
      }
    }
    let action = updates.isEmpty ? "NOTHING" : "UPDATE SET \(updates.joined(separator: ", "))"
    return "ON CONFLICT (\(columns[0])) DO \(action)"
  }

  /// The values of a row, one for each column.
  package func values(of entry: Column.Entry) -> [ColumnValue] {
    var values: [ColumnValue] = []
    values.reserveCapacity(writers.count)
    for write in writers { values.append(write(entry)) }
    return values
  }
}

/// A row of a table, read by column.
package struct TableRow<Column: TableColumn> {
  private let row: ResultRow

  package init(_ row: ResultRow) { self.row = row }

  // MARK: Columns that may be NULL

  package func optionalInteger(_ column: Column) throws(UnreadableValue) -> Int64? {
    try row.optionalInteger(column.rawValue)
  }
  package func optionalText(_ column: Column) throws(UnreadableValue) -> String? {
    try row.optionalText(column.rawValue)
  }
  package func optionalBytes(_ column: Column) throws(UnreadableValue) -> [UInt8]? {
    try row.optionalBytes(column.rawValue)
  }
  package func optionalID(_ column: Column) throws(UnreadableValue) -> StoreID? {
    try row.optionalID(column.rawValue)
  }
  package func optionalTime(_ column: Column) throws(UnreadableValue) -> Instant? {
    try optionalInteger(column).map { Instant(nanosecondsSinceEpoch: $0) }
  }
  package func optionalDigest(_ column: Column) throws(UnreadableValue) -> SHA256Digest? {
    try row.optionalDigest(column.rawValue)
  }
  package func optionalWord<Word: RawRepresentable<String>>(
    _ column: Column
  ) throws(UnreadableValue) -> Word? {
    try row.optionalWord(column.rawValue)
  }

  // MARK: Columns that always have a value

  package func integer(_ column: Column) throws(UnreadableValue) -> Int64 { try row.integer(column.rawValue) }
  /// A count, limited to 0 to 2,147,483,647, so that adding one never overflows.
  package func count(_ column: Column, absent: Int64 = 0) throws(UnreadableValue) -> Int64 {
    min(max(try optionalInteger(column) ?? absent, 0), Int64(Int32.max))
  }
  package func text(_ column: Column) throws(UnreadableValue) -> String { try row.text(column.rawValue) }
  package func bytes(_ column: Column) throws(UnreadableValue) -> [UInt8] { try row.bytes(column.rawValue) }
  package func id(_ column: Column) throws(UnreadableValue) -> StoreID { try row.id(column.rawValue) }
  package func time(_ column: Column) throws(UnreadableValue) -> Instant { try row.time(column.rawValue) }
  package func digest(_ column: Column) throws(UnreadableValue) -> SHA256Digest {
    try row.digest(column.rawValue)
  }
  package func word<Word: RawRepresentable<String>>(_ column: Column) throws(UnreadableValue) -> Word {
    try row.word(column.rawValue)
  }
}
