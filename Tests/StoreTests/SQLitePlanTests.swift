// Tests that no statement reads a whole table in SQLite.

import Testing

@testable import SQLiteStore
@testable import Store

@Suite struct SQLitePlanTests {
  /// SQLite's statements that the sources assemble from parts.
  static let own = [
    SQLiteCallbacks.SQL.readRow, SQLiteCallbacks.SQL.putRow, SQLiteCallbacks.SQL.putKey,
    SQLiteCallbacks.SQL.putPlace, SQLiteCallbacks.SQL.putNotice, SQLiteCallbacks.SQL.ofInstallation,
    SQLiteSession.ofAliasNumber.sql, SQLiteSession.spendIDs, SQLiteSession.forgetUnused,
    NoticeStatements.claims(
      "", "state = 'live' AND installation = $1 ORDER BY created DESC LIMIT -1 OFFSET $2"
    ).sql,
    NoticeStatements.claims("", "state = 'live' AND expires <= $1 ORDER BY expires LIMIT $2").sql,
  ]

  /// All statements, each once.
  static func all() throws -> [String] {
    let listed = (StoreStatements.queries + StoreStatements.changes.map(\.withoutLocks) + own)
      .map(SQLStatement.normalized)
    for statement in try SQLStatement.all(in: "Store") + SQLStatement.all(in: "SQLiteStore") {
      guard statement.whole == nil || statement.file.hasPrefix("Store/") else { continue }
      #expect(
        listed.contains { statement.isPart(of: $0) },
        "\(statement.file) has a statement that StoreStatements or SQLitePlanTests does not list: \(statement.parts)"
      )
    }
    return listed + (try SQLStatement.all(in: "SQLiteStore").compactMap(\.whole).filter(isStatement))
  }

  /// Whether an SQL text is a statement and not just a condition.
  private static func isStatement(_ sql: String) -> Bool { sql.contains(#/^(SELECT|INSERT|UPDATE|DELETE) /#) }

  /// The steps of a statement's plan.
  static func plan(_ sql: String, _ connection: SQLiteConnection) throws -> [String] {
    var plan: [String] = []
    try SQLiteStatement(connection, "EXPLAIN QUERY PLAN " + sql).run { plan.append($0.text(3)) }
    return plan
  }

  /// The tables and indexes that a statement reads entirely.
  static func scans(_ sql: String, _ connection: SQLiteConnection) throws -> [String] {
    let plan = try plan(sql, connection)
    // Intermediate results of the statement.
    let found = plan.filter { $0.hasPrefix("CO-ROUTINE ") || $0.hasPrefix("MATERIALIZE ") }
      .compactMap { $0.split(separator: " ").last }
    return plan.filter { step in
      step.hasPrefix("SCAN ") && step != "SCAN CONSTANT ROW" && !found.contains { step == "SCAN \($0)" }
    }
  }

  @Test func `no statement gets slower with the rows of a table`() throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let connection = try SQLiteConnection(path: place.path + "/state.sqlite3")
    try SQLiteSession.create(connection)
    for sql in try Self.all() {
      for scan in try Self.scans(sql, connection) where !SmallTables.isOne(of: scan) {
        Issue.record("\(scan): \(sql)")
      }
    }
    // The check finds a table that has no index for a condition.
    #expect(
      try Self.scans("SELECT id FROM callgate_callback WHERE code = 'x'", connection)
        == ["SCAN callgate_callback"])
  }

  /// SQLite numbers parameters by their first appearance in the text, whatever their digits.
  @Test func `parameters with a dollar sign come in their order`() {
    for sql in StoreStatements.queries + StoreStatements.changes.map(\.withoutLocks) + Self.own {
      var seen: [Int] = []
      for match in sql.matches(of: #/\$([0-9]+)/#) {
        if let number = Int(match.output.1), !seen.contains(number) { seen.append(number) }
      }
      #expect(seen == Array(1..<seen.count + 1), "\(sql)")
    }
  }
}
