// How an SQLite session reads and writes installations and the requests for them.

package import Gate
import JOSE
package import Store

extension SQLiteSession {
  /// The ids of installations of an app that nobody has used since a time. The order makes both statements see the same ones.
  private static let unused =
    "SELECT id FROM callgate_installation WHERE used < ?1 AND app = ?2 ORDER BY used, id LIMIT ?3"
  /// Keeps the ids that an operator has approved, of those that are forgotten: their names are spent.
  private static let spendIDs = """
    INSERT OR IGNORE INTO callgate_spent_id (id) SELECT id FROM callgate_installation
    WHERE id IN (\(unused)) AND coalesce(operator_deliveries, 1) > 0
    """

  package func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> InstallationOutcome<Result> {
    var result: Result?
    var ended: [EndedAppointment] = []
    try transaction { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      var view = InstallationView()
      for (query, values) in scope.reads(at: now) {
        for note in try open.rows(query, values) { note(&view) }
      }
      let (change, answer) = body(view)
      result = answer
      for call in change.writes(after: view, of: scope.id) { try open.run(call) }
      ended = []
      if let succession = change.succession(of: view) {
        ended = try callbacks.succeed(succession, at: now, open.connection)
      }
      return !change.isEmpty
    }
    guard let result else { preconditionFailure("the transaction succeeded without running its body") }
    return InstallationOutcome(result, ended: ended)
  }

  package func touchInstallations(_ uses: [InstallationID: Instant]) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      let touch = try SQLiteStatement(
        open.connection, "UPDATE callgate_installation SET used = max(used, ?) WHERE id = ?")
      for (id, time) in uses { try touch.run([.integer(time.nanosecondsSinceEpoch), .bytes(id.bytes)]) }
      return true
    }
  }

  package func purgeInstallations(unusedSince unused: [String: Instant], most: Int) throws(StoreError) -> Int
  {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      removed = 0
      let spend = try SQLiteStatement(open.connection, Self.spendIDs)
      let forget = try SQLiteStatement(
        open.connection, "DELETE FROM callgate_installation WHERE id IN (\(Self.unused))")
      for (appID, time) in unused where removed < most {
        let values: [ColumnValue] = [
          .integer(time.nanosecondsSinceEpoch), .text(appID), .integer(Int64(most - removed)),
        ]
        try spend.run(values)
        try forget.run(values)
        removed += open.connection.changes
      }
      return removed > 0
    }
    return removed
  }
}
