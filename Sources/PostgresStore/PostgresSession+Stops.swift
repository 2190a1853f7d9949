// How a PostgreSQL session reads and writes stops.

import Gate
package import Store

extension PostgresSession {
  package func stops() throws(StoreError) -> StopSet {
    var rows: [StopSet.Row] = []
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      let found = try connection.run([.prepared(PostgresStatements.stops, [])], within: Self.span)
      rows = try found[0].rows.map { row throws(PostgresFailure) in
        StopSet.Row(
          scope: try row.text(0), id: try row.text(1), action: try row.text(2), since: try row.integer(3),
          until: try row.optionalInteger(4), reason: row[5])
      }
    }
    return StopSet(rows: rows)
  }

  package func stop(_ stop: Stop) throws(StoreError) {
    let (scope, id) = stop.target.parts
    try commit(stop.action) {
      [scope, id, $0.rawValue, "\(stop.since)", stop.until.map { "\($0)" }, stop.reason]
    } statement: {
      PostgresStatements.stop
    }
  }

  package func resume(_ target: Stop.Target, _ action: Stop.Action) throws(StoreError) {
    let (scope, id) = target.parts
    try commit(action) {
      [scope, id, $0.rawValue]
    } statement: {
      PostgresStatements.resume
    }
  }

  /// Forgets stops that ended before a time.
  package func purgeStops(at seconds: Int64) throws(StoreError) -> Int {
    var removed = 0
    try use { connection throws(PostgresFailure) in
      removed = try connection.run(
        [.prepared(PostgresStatements.purgeStops, ["\(seconds)"])], within: Self.span)[0].changed
    }
    return removed
  }

  private func commit(
    _ action: Stop.Action, parameters: (Gate.Action) -> [String?], statement: () -> PostgresStatement
  ) throws(StoreError) {
    let commands = action.single.map { PostgresCommand.prepared(statement(), parameters($0)) }
    // Whether a COMMIT may have been sent that was not answered.
    var isInDoubt = false
    do throws(StoreError) {
      try use { connection throws(PostgresFailure) in
        _ = try self.maker(connection)
        do throws(PostgresFailure) {
          _ = try connection.run([.plain("BEGIN")] + commands + [.plain("COMMIT")], within: Self.span)
        } catch {
          isInDoubt = isInDoubt || error.leavesDoubt
          throw error
        }
      }
    } catch {
      throw isInDoubt ? error.inDoubt : error
    }
  }
}

extension PostgresStatements {
  static let stops = PostgresStatement(
    name: "callgate_stops", sql: "SELECT scope, id, action, since, ends, reason FROM callgate_stop")
  /// A stop that has ended does not count. Of two current stops, the later end counts.
  static let stop = PostgresStatement(
    name: "callgate_stop",
    sql: """
      INSERT INTO callgate_stop AS kept (scope, id, action, since, ends, reason)
      VALUES ($1, $2, $3, $4::bigint, $5::bigint, $6)
      ON CONFLICT (scope, id, action) DO UPDATE SET
        since = CASE WHEN kept.ends <= excluded.since THEN excluded.since ELSE kept.since END,
        ends = CASE WHEN kept.ends <= excluded.since THEN excluded.ends
          WHEN kept.ends IS NULL OR excluded.ends IS NULL THEN NULL ELSE greatest(kept.ends, excluded.ends) END,
        reason = CASE WHEN kept.ends <= excluded.since THEN excluded.reason
          ELSE coalesce(excluded.reason, kept.reason) END
      """)
  static let resume = PostgresStatement(
    name: "callgate_resume", sql: "DELETE FROM callgate_stop WHERE scope = $1 AND id = $2 AND action = $3")
  static let purgeStops = PostgresStatement(
    name: "callgate_purge_stops", sql: "DELETE FROM callgate_stop WHERE ends <= $1::bigint")
}
