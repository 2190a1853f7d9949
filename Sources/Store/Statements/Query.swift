// Types for SQL statements in a form that both SQLite and PostgreSQL accept: queries, with the function that
// reads their rows, and changes.

/// A query that returns rows. Its parameters are `$1`, `$2`…; the database infers the type of each from the
/// expression that it is compared with.
package struct Query<Row: Sendable>: Sendable {
  /// A unique name, under which the statement is prepared.
  package let name: String
  package let sql: String
  /// The types of the columns of a row.
  package let types: [ColumnType]
  package let read: @Sendable (ResultRow) throws(UnreadableValue) -> Row

  init(
    _ name: String, _ sql: String, _ types: [ColumnType],
    read: @escaping @Sendable (ResultRow) throws(UnreadableValue) -> Row
  ) {
    self.name = name
    self.sql = sql
    self.types = types
    self.read = read
  }
}

extension Query where Row: TableEntry {
  /// Selects all columns of a table.
  ///
  /// - Parameter condition: The text after WHERE, with ORDER BY and LIMIT.
  package init(_ name: String, where condition: String) {
    let table = Row.Column.table
    self.init(name, "SELECT \(table.list) FROM \(table.name) WHERE \(condition)", table.types) {
      row throws(UnreadableValue) in try row.entry()
    }
  }
}

/// A statement that changes rows.
package struct Change: Sendable {
  /// A unique name, under which the statement is prepared.
  package let name: String
  package let sql: String
  /// Whether the statement skips rows that other transactions have locked, in a database with row locks.
  private let skipsLocked: Bool

  init(_ name: String, _ sql: String) {
    self.name = name
    self.sql = sql
    skipsLocked = false
  }

  /// Inserts a row of a table, or replaces the one with the same first column. If none of the columns ever
  /// changes, an existing row stays.
  init<Column: TableColumn>(putting _: Column.Type) {
    let table = Column.table
    let parameters = (1...table.count).map { "$\($0)" }.joined(separator: ", ")
    self.init(
      "put_\(table.name)",
      "INSERT INTO \(table.name) (\(table.list)) VALUES (\(parameters)) \(table.onConflict)")
  }

  /// Deletes rows that a subquery finds. The subquery ends the statement and is given without its closing
  /// parenthesis.
  init(_ name: String, deleting sql: String) {
    self.name = name
    self.sql = sql
    skipsLocked = true
  }

  /// Deletes the oldest rows of a table with serials, without counting rows. `$1` is the number of rows to
  /// keep.
  init(_ name: String, beyondNewest table: String) {
    self.init(
      name,
      deleting: """
        DELETE FROM \(table) WHERE id IN (
          SELECT older.id FROM \(table) AS older
          WHERE older.serial <= (SELECT max(serial) FROM \(table)) - $1
        """)
  }

  /// Deletes or updates at most `$2` rows of a table: those that meet a condition, which compares a time with
  /// `$1`.
  ///
  /// - Parameters:
  ///   - action: The start of an UPDATE; nil deletes the rows.
  ///   - condition: The text after WHERE, for a table called `kept`.
  init(
    purging name: String, _ table: String, key: String = "id", _ action: String? = nil,
    where condition: String
  ) {
    self.name = "purge_\(name)"
    sql = """
      \(action ?? "DELETE FROM \(table)") WHERE \(key) IN (
        SELECT kept.\(key) FROM \(table) AS kept WHERE \(condition) LIMIT $2
      """
    skipsLocked = true
  }

  /// The SQL for a database with row locks. A deletion skips rows that other transactions have locked, so
  /// that it never waits while it has locked some.
  package var withLocks: String { skipsLocked ? sql + " FOR UPDATE SKIP LOCKED)" : sql }
  /// The SQL for a database in which one transaction writes at a time.
  package var withoutLocks: String { skipsLocked ? sql + ")" : sql }
}

/// A change with the values of its parameters.
package struct ChangeCall: Sendable {
  package let change: Change
  package let values: [ColumnValue]

  init(_ change: Change, _ values: ColumnValue...) { self.init(change, values: values) }

  init(_ change: Change, values: [ColumnValue]) {
    self.change = change
    self.values = values
  }
}
