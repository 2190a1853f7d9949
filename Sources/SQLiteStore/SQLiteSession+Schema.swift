// Reads the schema of an SQLite store, and upgrades it.

import Platform
package import Store

extension SQLiteSession {
  /// Runs one part of an upgrade, each in a separate transaction: another process that serves the file waits
  /// for one part only.
  ///
  /// - Returns: Whether the schema is up to date.
  package func migrate(_ wait: MigrationWait) throws(StoreError) -> Bool {
    closedUntil = nil
    var isDone = false
    try transaction { open throws(StoreError) in
      let connection = open.connection
      let version = try Self.version(connection)
      guard version <= Migration.latest else { throw Migration.incompatible(version) }
      isDone = version == Migration.latest
      guard !isDone else { return false }
      if version == 0 {
        try Self.create(connection)
        isDone = true
      } else {
        isDone = try Self.upgrade(connection, from: version, wait.report)
      }
      return true
    }
    return isDone
  }

  /// Creates the tables. Call it in a transaction.
  static func create(_ connection: SQLiteConnection) throws(StoreError) {
    try connection.execute(
      "CREATE TABLE callgate_schema (version INTEGER PRIMARY KEY NOT NULL, applied INTEGER NOT NULL) STRICT")
    for statement in SchemaUpgrade.newFile { try connection.execute(statement) }
    try SQLiteStatement(connection, "INSERT INTO callgate_meta (name, value) VALUES ('hash_key', ?)").run([
      .text(StoreIDMaker.newKey().hex)
    ])
    try finish(connection, from: 0)
  }

  /// Runs the next part of the upgrade: first the changes, then one index after the other, and last the
  /// version.
  private static func upgrade(
    _ connection: SQLiteConnection, from version: Int, _ report: (String) -> Void
  ) throws(StoreError) -> Bool {
    var prepared = 0
    try SQLiteStatement(connection, "SELECT value FROM callgate_meta WHERE name = ?").run([
      .text(SchemaUpgrade.mark)
    ]) { prepared = Int($0.text(0)) ?? 0 }
    let plan = SchemaUpgrade(from: version, prepared: prepared, \.sqlite)
    for statement in plan.changes { try connection.execute(statement) }
    if !plan.changes.isEmpty, !plan.indexes.isEmpty {
      try SQLiteStatement(
        connection,
        "INSERT INTO callgate_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
      ).run([.text(SchemaUpgrade.mark), .text("\(Migration.latest)")])
      return false
    }
    var made: Set<String> = []
    try SQLiteStatement(connection, "SELECT name FROM sqlite_schema WHERE type = 'index'").run {
      made.insert($0.text(0))
    }
    guard let index = plan.indexes.first(where: { !made.contains($0.name) }) else {
      try finish(connection, from: version)
      return true
    }
    report("the upgrade of the schema builds the index \(index.name)")
    try connection.execute(index.sql)
    return false
  }

  private static func finish(_ connection: SQLiteConnection, from version: Int) throws(StoreError) {
    for step in version..<Migration.latest {
      try SQLiteStatement(connection, "INSERT INTO callgate_schema (version, applied) VALUES (?, ?)").run([
        .integer(Int64(step + 1)), .integer(SystemClock().unixTime.seconds),
      ])
    }
    try SQLiteStatement(connection, "DELETE FROM callgate_meta WHERE name = ?").run([
      .text(SchemaUpgrade.mark)
    ])
  }

  package func inspect() throws(StoreError) -> Int {
    if let path { try SQLiteFile.requireWritable(path) }
    let version = try inspecting(Self.version)
    guard version <= Migration.latest else { throw Migration.incompatible(version) }
    return version
  }

  /// The version of the schema; 0 for an empty file.
  static func version(_ connection: SQLiteConnection) throws(StoreError) -> Int {
    var tables: [String] = []
    try SQLiteStatement(connection, "SELECT name FROM sqlite_schema WHERE type = 'table'").run {
      tables.append($0.text(0))
    }
    guard tables.contains("callgate_schema") else {
      guard tables.isEmpty else {
        throw StoreError(.damaged, "schema", "the file is another program's database")
      }
      return 0
    }
    var version = 0
    try SQLiteStatement(connection, "SELECT max(version) FROM callgate_schema").run {
      version = Int($0.integer(0))
    }
    return version
  }
}
