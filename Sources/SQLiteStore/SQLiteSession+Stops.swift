// How an SQLite session reads and writes stops.

import Gate
package import Store

extension SQLiteSession {
  package func stops() throws(StoreError) -> StopSet {
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

  package func stop(_ stop: Stop) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      let (scope, id) = stop.target.parts
      for action in stop.action.single {
        // A stop that has ended does not count. Of two current stops, the later end counts.
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

  package func resume(_ target: Stop.Target, _ action: Stop.Action) throws(StoreError) {
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
  package func purgeStops(at seconds: Int64) throws(StoreError) -> Int {
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
}
