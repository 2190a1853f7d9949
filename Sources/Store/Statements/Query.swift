// An SQL statement that SQLite and PostgreSQL share, and how its rows are read.

/// A query. Its parameters are `$1`, `$2`…; the database infers the type of each from what it is compared
/// with.
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
  /// Reads rows of a table.
  ///
  /// - Parameter condition: What comes after WHERE.
  package init(_ name: String, where condition: String) {
    let table = Row.Column.table
    self.init(name, "SELECT \(table.list) FROM \(table.name) WHERE \(condition)", table.types) {
      row throws(UnreadableValue) in try row.entry()
    }
  }
}

/// A statement that changes rows. It has the same effect if it runs twice.
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

  /// Deletes a bounded number of rows: those up to `$1`, and at most `$2`.
  ///
  /// - Parameters:
  ///   - action: What to do with the rows; nil deletes them.
  ///   - condition: What comes after WHERE, for a table called `kept`.
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

  /// The SQL for a database with row locks. It skips rows that others have locked, so that it never waits
  /// while it has locked some.
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
