// Tests that no statement reads a whole table in PostgreSQL.

import Gate
import Platform
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled)) struct PostgresPlanTests {
  /// PostgreSQL's statements that the sources assemble from parts.
  static let own =
    [
      PostgresStatements.aliasNumbers, PostgresStatements.callbacks, PostgresStatements.formerPlaces,
      PostgresStatements.lockKeys, PostgresStatements.lockPlaces, PostgresStatements.lockCallbacks,
      PostgresStatements.putNotices, PostgresStatements.putCallbacks, PostgresStatements.putKeys,
      PostgresStatements.putPlaces, PostgresStatements.lockOwnInstallation,
    ].map(\.sql) + [PostgresStatements.lockOldClaims.sql, PostgresStatements.lockOverdueClaims.sql]

  /// All statements, each once.
  static func all() throws -> [String] {
    let listed = (StoreStatements.queries + StoreStatements.changes.map(\.withLocks) + own)
      .map(SQLStatement.normalized)
    let here = try SQLStatement.all(in: "PostgresStore")
    for statement in here where !isStatement(statement.whole ?? "") {
      #expect(
        listed.contains { statement.isPart(of: $0) },
        "\(statement.file) has a statement that PostgresPlanTests does not list: \(statement.parts)")
    }
    return listed + here.compactMap(\.whole).filter(isStatement)
  }

  /// Whether an SQL text is a statement and not just a condition.
  private static func isStatement(_ sql: String) -> Bool {
    sql.contains(#/^(SELECT|INSERT|UPDATE|DELETE|WITH) /#)
  }

  static func connect(_ database: String) throws -> PostgresConnection {
    try PostgresConnection(
      [
        ("host", "127.0.0.1"), ("port", "\(PostgresServer.shared.get().port)"), ("user", "callgate"),
        ("password", "secret"), ("dbname", database),
      ], until: SystemClock().now + .seconds(5))
  }

  /// SQL that writes a parameter's value by its type. For a number, it is a time, in seconds, at which
  /// nothing is due yet.
  private static let value = """
    CASE WHEN type::text LIKE '%[]' THEN quote_literal('{}') WHEN type = 'uuid'::regtype
      THEN quote_literal('80000000-0000-0000-0000-000000000000')
      WHEN type = 'bytea'::regtype THEN 'decode(repeat(''00'', 32), ''hex'')' WHEN type = 'text'::regtype
      THEN quote_literal('x') ELSE '\(Instant.noon().seconds)' END
    """

  /// The lines of each statement's plan, made for specific values as the store has it made.
  static func plans(_ statements: [String], _ connection: PostgresConnection) throws -> [[String]] {
    let prepare: [PostgresCommand] = statements.enumerated().map { index, sql in
      // A limit or an offset is a small number.
      .plain("PREPARE s\(index) AS " + sql.replacing(#/(LIMIT|OFFSET) \$[0-9]+/#) { "\($0.output.1) 10" })
    }
    let explain: [PostgresCommand] = statements.indices.map { index in
      .plain(
        """
        SELECT 'EXPLAIN (COSTS OFF) EXECUTE s\(index)'
          || coalesce('(' || string_agg(\(value), ', ') || ')', '')
        FROM pg_prepared_statements, unnest(parameter_types) AS type WHERE name = 's\(index)'
        """)
    }
    let found = try connection.run([.plain("DEALLOCATE ALL")] + prepare + explain, within: .seconds(20))
    let explained = found.dropFirst(1 + prepare.count).compactMap { $0.rows.first?[0] }
    return try connection.run(explained.map { .plain($0) }, within: .seconds(20)).map {
      $0.rows.compactMap { $0[0] }
    }
  }

  /// The steps of a plan that read an entire table or index.
  static func scans(_ plan: [String]) -> [String] {
    plan.indices.filter { index in
      if plan[index].contains("Seq Scan on") { return true }
      guard plan[index].contains(#/(Index|Index Only|Bitmap Index) Scan /#) else { return false }
      let details = plan[(index + 1)...].prefix { !$0.contains("->") }
      return !details.contains { $0.contains("Index Cond:") }
    }.map { plan[$0] }
  }

  /// Statements that read an entire table or index, in a database with many callbacks, installations and
  /// allowances.
  static func faults(_ connection: PostgresConnection) throws -> [String] {
    let statements = try all()
    return zip(statements, try plans(statements, connection)).flatMap { sql, plan in
      scans(plan).filter { !SmallTables.isOne(of: $0) }
        // In an empty table, a search costs as much as reading all of it.
        .filter { $0.contains(#/Seq Scan| on callgate_(callback|installation|allowance)( |$)/#) }
        .map { "\($0): \(sql)" }
    }
  }

  @Test func `no statement gets slower with the rows of a table`() async throws {
    let fixture = try StoreFixture(.postgres, template: await PostgresServer.template.value)
    defer { fixture.end() }
    let connection = try Self.connect(fixture.databaseName)
    try ManyRows(count: 2000).fill(connection)
    // The other tables are empty, and PostgreSQL would rather read one of them entirely than use an index.
    _ = try connection.run([.plain("SET enable_seqscan = off")], within: .seconds(1))
    for fault in try Self.faults(connection) { Issue.record("\(fault)") }
    // The check finds a table that has no index for a condition.
    let plans = try Self.plans(["SELECT id FROM callgate_callback WHERE code = 'x'"], connection)
    #expect(plans.map { Self.scans($0).count } == [1])
  }
}
