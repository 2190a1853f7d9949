// A statement that every database takes, and how its rows are read.

/// Reads rows. The parameters are `$1`, `$2`…; a database gives each the type of what it is compared with.
package struct Query<Row: Sendable>: Sendable {
  /// A name of its own.
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

/// Changes rows. It has the same effect when it runs twice.
package struct Change: Sendable {
  /// A name of its own.
  package let name: String
  package let sql: String
  /// What it locks while it looks for the rows, for a database with locks of rows.
  private let skipsLocked: Bool

  init(_ name: String, _ sql: String) {
    self.name = name
    self.sql = sql
    skipsLocked = false
  }

  /// Writes a row of a table, in place of the one with the same first column. That one stays where none of its columns ever changes.
  init<Column: TableColumn>(putting _: Column.Type) {
    let table = Column.table
    let parameters = (1...table.count).map { "$\($0)" }.joined(separator: ", ")
    self.init(
      "put_\(table.name)",
      "INSERT INTO \(table.name) (\(table.list)) VALUES (\(parameters)) \(table.onConflict)")
  }

  /// Deletes rows that a subquery finds, the last part of the statement, which stands here without its closing parenthesis.
  init(_ name: String, deleting sql: String) {
    self.name = name
    self.sql = sql
    skipsLocked = true
  }

  /// Deletes the oldest rows of a table with serials, without counting rows. `$1` is the number of rows to keep.
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
  ///   - action: What to do with them; the whole row goes where it is nil.
  ///   - condition: What comes after WHERE, in the words of a table `kept`.
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

  /// For a database with locks of rows: passes over those that others lock, so that it never waits while it has locked some.
  package var withLocks: String { skipsLocked ? sql + " FOR UPDATE SKIP LOCKED)" : sql }
  /// For a database in which one transaction writes at a time.
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
