// Plans an upgrade of the database schema that runs while other instances serve requests.

/// The statements that bring an existing store from its version to the latest.
///
/// | part | how |
/// |---|---|
/// | changes | in one short transaction, which first locks every table that the changes affect |
/// | indexes of existing tables | one by one, while requests continue, because a table may be large |
/// | the version | after both, so that instances of the previous release can connect until then |
///
/// A table of a new step is empty, so its indexes belong to the changes.
package struct SchemaUpgrade: Sendable {
  /// An index of a table that existed before the upgrade.
  package struct Index: Sendable, Equatable {
    package let name: String
    package let sql: String

    /// The statement for PostgreSQL, without a lock that stops writes.
    package var concurrently: String {
      sql.replacing("CREATE INDEX", with: "CREATE INDEX CONCURRENTLY", maxReplacements: 1)
    }
  }

  /// The tables to lock for the changes, in the order in which requests lock them.
  package let tables: [String]
  package let changes: [String]
  package let indexes: [Index]

  /// The statements for a new SQLite file. They create each table with the columns of all steps: for each
  /// ALTER TABLE, SQLite would read the whole schema again, which took four fifths of the time.
  package static let newFile: [String] = {
    var statements: [String] = []
    var columns: [String: String] = [:]
    for sql in Migration.all.flatMap(\.sqlite) {
      guard sql.hasPrefix("ALTER TABLE ") else {
        statements.append(sql)
        continue
      }
      let table = MigrationStatement(sql).table
      columns[table, default: ""] += ", " + sql.dropFirst("ALTER TABLE \(table) ADD COLUMN ".count)
    }
    return statements.map { sql in
      guard sql.hasPrefix("CREATE TABLE "), let added = columns[MigrationStatement(sql).table] else {
        return sql
      }
      // Columns come before a key of several columns, or before the last parenthesis.
      let key = sql.firstRange(of: ",\n  PRIMARY KEY (")?.lowerBound
      var sql = sql
      if let end = key ?? sql.lastIndex(of: ")") { sql.insert(contentsOf: added, at: end) }
      return sql
    }
  }()

  /// The name in `callgate_meta` under which an unfinished upgrade saves the version up to which it has made
  /// the changes.
  package static let mark = "upgrade"

  /// The order in which transactions of requests first use the tables.
  static let order = [
    "callgate_commit", "callgate_installation", "callgate_callback_key", "callgate_callback_place",
    "callgate_callback", "callgate_notice", "callgate_allowance", "callgate_spent_id", "callgate_enrolment",
    "callgate_device", "callgate_hook_name", "callgate_claim", "callgate_stop", "callgate_store_key",
    "callgate_instance", "callgate_login", "callgate_proven_number", "callgate_screening",
    "callgate_meta", "callgate_number_key", "callgate_blocked_number",
  ]

  /// - Parameters:
  ///   - version: The version of the store, at least 1.
  ///   - prepared: The version up to which an unfinished upgrade has made the changes.
  ///   - statements: The statements of a step for this kind of store.
  package init(
    from version: Int, prepared: Int, _ statements: KeyPath<Migration, [String]>,
    steps: [Migration] = Migration.all
  ) {
    let all = steps.map { $0[keyPath: statements].map(MigrationStatement.init) }
    let old = Set(all.prefix(version).joined().compactMap(\.createdTable))
    let isApart = { (statement: MigrationStatement) in statement.index != nil && old.contains(statement.table)
    }
    let missing = Array(all.dropFirst(max(version, prepared)).joined())
    let changes = missing.filter { !isApart($0) }
    let changed = Set(
      changes.filter { $0.createdTable == nil }.map(\.table) + changes.compactMap(\.referencedTable))
    let there = Set(all.prefix(max(version, prepared)).joined().compactMap(\.createdTable))
    tables = Self.order.filter { changed.contains($0) && there.contains($0) }
    self.changes = changes.map(\.sql)
    indexes = all.dropFirst(version).joined().filter(isApart).compactMap { statement in
      statement.index.map { Index(name: $0, sql: statement.sql) }
    }
  }
}

/// A statement of the schema, with the table and the index that it affects.
struct MigrationStatement {
  let sql: String
  /// The table that the statement creates, changes or gives an index.
  let table: String
  /// Whether the statement creates the table.
  private let createsTable: Bool
  /// The name of the index that the statement creates; nil for other statements.
  let index: String?
  /// The table that a foreign key of the statement refers to.
  let referencedTable: String?

  var createdTable: String? { createsTable ? table : nil }

  /// Reads the first words. Traps on a statement of an unknown form: then add here which table it locks.
  init(_ sql: String) {
    let words = sql.split(whereSeparator: \.isWhitespace).map(String.init)
    let verb = words.prefix(2).joined(separator: " ")
    self.sql = sql
    createsTable = verb == "CREATE TABLE"
    index = verb == "CREATE INDEX" ? words[2] : nil
    referencedTable = words.firstIndex(of: "REFERENCES").map { words[$0 + 1] }
    switch verb {
    case "CREATE TABLE", "ALTER TABLE", "INSERT INTO": table = words[2]
    case "CREATE INDEX": table = words[4]
    case "CREATE TRIGGER": table = words[6]
    case _ where words[0] == "UPDATE": table = words[1]
    default: preconditionFailure("a statement of the schema of an unknown form: \(verb)")
    }
  }
}

/// The longest time that an upgrade of the schema waits for other sessions, and the function that receives
/// its reports.
public struct MigrationWait: Sendable {
  /// The longest wait; nil for as long as it takes.
  public let limit: Duration?
  /// Called with a sentence for operators whenever the upgrade starts to wait for something else, or to build
  /// an index.
  public let report: @Sendable (String) -> Void

  public init(_ limit: Duration?, report: @escaping @Sendable (String) -> Void = { _ in }) {
    self.limit = limit
    self.report = report
  }
}
