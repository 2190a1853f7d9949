// How an SQLite session keeps the kill switch and the schema.

import Gate
import Platform

extension SQLiteSession {
  // MARK: Stops

  func stops() throws(StoreError) -> StopSet {
    var rows: [StopSet.Row] = []
    try use { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection, "SELECT scope, id, action, since, ends, reason FROM callgate_stop"
      ).run {
        rows.append(
          StopSet.Row(
            scope: $0.text(0), id: $0.text(1), action: $0.text(2), since: $0.integer(3),
            until: $0.optionalInteger(4), reason: $0.optionalText(5)))
      }
    }
    return StopSet(rows: rows)
  }

  func stop(_ stop: Stop) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      let (scope, id) = stop.target.parts
      for action in stop.action.single {
        // What is over is no stop any more; of two that hold, the later end counts.
        try SQLiteStatement(
          open.connection,
          "DELETE FROM callgate_stop WHERE scope = ? AND id = ? AND action = ? AND ends <= ?"
        ).run([.text(scope), .text(id), .text(action.rawValue), .integer(stop.since)])
        try SQLiteStatement(
          open.connection,
          """
          INSERT INTO callgate_stop (scope, id, action, since, ends, reason) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (scope, id, action) DO UPDATE SET ends = max(ends, excluded.ends),
            reason = coalesce(excluded.reason, reason)
          """
        ).run([
          .text(scope), .text(id), .text(action.rawValue), .integer(stop.since), .optional(stop.until),
          .optional(stop.reason),
        ])
      }
      return true
    }
  }

  func resume(_ target: Stop.Target, _ action: Stop.Action) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      let (scope, id) = target.parts
      for action in action.single {
        try SQLiteStatement(
          open.connection, "DELETE FROM callgate_stop WHERE scope = ? AND id = ? AND action = ?"
        ).run([.text(scope), .text(id), .text(action.rawValue)])
      }
      return true
    }
  }

  /// Forgets stops that ended before a time.
  func purgeStops(at seconds: Int64) throws(StoreError) -> Int {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(open.connection, "DELETE FROM callgate_stop WHERE ends <= ?").run([
        .integer(seconds)
      ])
      removed = open.connection.changes
      return removed > 0
    }
    return removed
  }

  // MARK: Schema

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
