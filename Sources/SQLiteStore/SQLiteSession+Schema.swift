// How a session reads the schema of a SQLite store and brings it up to date.

import Platform
import Store

extension SQLiteSession {
  func migrate() throws(StoreError) {
    closedUntil = nil
    try transaction { open throws(StoreError) in
      let connection = open.connection
      let version = try Self.version(connection)
      guard version <= Migration.latest else { throw Migration.incompatible(version) }
      guard version < Migration.latest else { return false }
      if version == 0 {
        try connection.execute(
          "CREATE TABLE callgate_schema (version INTEGER PRIMARY KEY NOT NULL, applied INTEGER NOT NULL) STRICT"
        )
      }
      for (index, step) in Migration.all.enumerated().dropFirst(version) {
        for statement in step.sqlite { try connection.execute(statement) }
        try SQLiteStatement(connection, "INSERT INTO callgate_schema (version, applied) VALUES (?, ?)").run([
          .integer(Int64(index + 1)), .integer(clock.unixTime.seconds),
        ])
      }
      if version == 0 {
        try SQLiteStatement(connection, "INSERT INTO callgate_meta (name, value) VALUES ('hash_key', ?)").run(
          [
            .text(StoreIDMaker.newKey().hex)
          ])
      }
      return true
    }
  }

  /// The version of the schema of a file that another process may have open; 0 for an empty one.
  func inspect() throws(StoreError) -> Int {
    try SQLiteFile.requireWritable(path)
    let version = try Self.version(try SQLiteConnection(reading: path, vfs: vfs))
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
